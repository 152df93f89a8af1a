"""Long conversations with a writer that forgets: nothing that was ever offered is lost."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from app.domain.working_memory.deferral import DeferredItem
from app.domain.working_memory.guards.issues import RESTORED
from app.domain.working_memory.guards.title import title_words
from app.domain.working_memory.items import read_items
from app.domain.working_memory.merge import merge
from app.domain.working_memory.operations import Append, SectionOp, Update
from app.domain.working_memory.sections import Bodies, Section
from app.domain.working_memory.wording import normalised
from tests.support.handed_data import load_test_data, skipped_without_data

ROUNDS = 19
CONVERSATIONS = [name for name in ("26", "30", "41", "42", "43") if load_test_data("data", "locomo", f"{name}.json")]


def words(text: str) -> int:
    return len(text.split())


def offered(conversation: dict[str, Any]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the facts and the questions of each session."""
    for number in range(1, ROUNDS + 1):
        observed = conversation.get(f"session_{number}_observation") or {}
        facts = [" ".join(fact.split()) for told in observed.values() for fact, *_ in told]
        said = [message["text"] for message in conversation.get(f"session_{number}", ())]
        questions = [" ".join(text.split()) for text in said if text.rstrip().endswith("?")][:3]
        yield facts, questions


class LossyWriter:
    """Appends in three rounds of ten; else rewrites and keeps six of ten old bullets. Drifts and drops issues."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def ops(self, bodies: Bodies, facts: list[str], questions: list[str]) -> dict[Section, SectionOp]:
        ops: dict[Section, SectionOp] = {
            Section.SESSION_TITLE: Update(self._random.choice(["Weekend camping list", "Glider cable", "Cooking"])),
            Section.CURRENT_STATE: Update(f"After {len(facts)} facts."),
            Section.OPEN_ISSUES: self._op(bodies.get(Section.OPEN_ISSUES, ""), questions),
            Section.KEY_FACTS: self._op(bodies.get(Section.KEY_FACTS, ""), facts),
        }
        return ops

    def _op(self, body: str, new: list[str]) -> SectionOp:
        if self._random.random() < 0.3:
            return Append(tuple(new))
        kept = [item.text for item in read_items(body) if self._random.random() < 0.6]
        return Update("\n".join(f"- {line}" for line in [*kept, *new]))


@pytest.mark.parametrize("name", CONVERSATIONS or [skipped_without_data()])
@pytest.mark.parametrize("seed", [1, 2])
def test_every_fact_and_open_issue_survives_a_forgetful_writer(name: str, seed: int) -> None:
    conversation = load_test_data("data", "locomo", f"{name}.json")
    assert conversation is not None
    bodies: Bodies = {Section.SESSION_TITLE: "Harbour ferry timetable"}
    deferred: tuple[DeferredItem, ...] = ()
    writer = LossyWriter(seed)
    facts: set[str] = set()
    issues: set[str] = set()
    for new_facts, questions in offered(conversation):
        facts.update(map(normalised, new_facts))
        issues.update(map(normalised, questions))
        result = merge(bodies, writer.ops(bodies, new_facts, questions), count_tokens=words, deferred=deferred)
        bodies, deferred = result.bodies, result.deferred
    assert len(facts) > 100
    assert missing(facts, bodies, deferred, Section.KEY_FACTS) == []
    assert missing(issues, bodies, deferred, Section.OPEN_ISSUES) == []
    assert title_words(bodies[Section.SESSION_TITLE]) == {"harbour", "ferry", "timetable"}


def missing(keys: set[str], bodies: Bodies, deferred: tuple[DeferredItem, ...], section: Section) -> list[str]:
    said = [normalised(item.text.replace(RESTORED, "")) for item in read_items(bodies[section])]
    said += [normalised(item.text) for item in deferred if item.section is section]
    return [key for key in sorted(keys) if not any(key in text for text in said)]
