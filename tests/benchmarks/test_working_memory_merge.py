"""What a merge costs, measured against one pass of what it is made of.

Run with `pytest -m benchmark -s tests/benchmarks/test_working_memory_merge.py`. The primitives are: NFKC, the patterns
for anchors, the patterns for references, and words with character pairs, each once over the old document.
"""

import random
import time
import unicodedata
from collections.abc import Callable

import pytest

from app.domain.working_memory.anchors import find_anchors
from app.domain.working_memory.coverage import content_words
from app.domain.working_memory.merge import merge
from app.domain.working_memory.operations import Append, SectionOp, Update
from app.domain.working_memory.references import find_references
from app.domain.working_memory.sections import SECTIONS, Bodies, Section
from tests.support.seed_tokens import seed_tokens

NAMES = ("Ingrid", "Tomasz", "Yara", "Bram", "Chloe", "Dmitri", "林晓雨", "田中")
THINGS = ("pump", "valve", "berth", "ferry", "timetable", "schema", "泵房", "料金表")
MOST_TIMES_THE_PRIMITIVES = 2.0


def written_document(scale: int) -> dict[Section, str]:
    """Return about 12,000 tokens per scale, two thirds English, the rest Chinese and Japanese."""
    draw = random.Random(7)

    def fact(number: int) -> str:
        day = f"2031-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
        return f"- {draw.choice(NAMES)} checked {draw.choice(THINGS)} {number} on {day} because it costs ${number}"

    def path(number: int) -> str:
        return f"- src/{draw.choice(THINGS)}/unit_{number}.py - read by {draw.choice(NAMES)}, see HBR-{number}"

    counts = {Section.FILES_AND_CONTEXT: 115, Section.KEY_FACTS: 250}
    bodies = {
        section: "\n".join(
            (path if section is Section.FILES_AND_CONTEXT else fact)(number)
            for number in range(scale * counts.get(section, 96))
        )
        for section in SECTIONS
    }
    return {**bodies, Section.SESSION_TITLE: "Harbour ferry timetable"}


def rewritten(bodies: Bodies) -> dict[Section, SectionOp]:
    draw = random.Random(8)
    ops: dict[Section, SectionOp] = {}
    for section, body in bodies.items():
        kept = [line for line in body.split("\n") if draw.random() < 0.85]
        ops[section] = Update("\n".join([*kept, "- one new line about the ferry"]))
    return {**ops, Section.ERRORS_AND_CORRECTIONS: Append(("one new mistake",))}


def best_of(action: Callable[[], object]) -> float:
    seconds = []
    for _ in range(5):
        start = time.process_time()
        action()
        seconds.append(time.process_time() - start)
    return min(seconds)


def run_primitives(bodies: Bodies) -> None:
    for body in bodies.values():
        unicodedata.normalize("NFKC", body)
        find_anchors(body)
        find_references(body)
        content_words(body)


@pytest.mark.benchmark
def test_a_merge_costs_at_most_twice_its_primitives_and_grows_linearly() -> None:
    costs = {}
    for scale in (1, 10):
        bodies = written_document(scale)
        ops = rewritten(bodies)
        merged = best_of(lambda bodies=bodies, ops=ops: merge(bodies, ops, count_tokens=len))  # type: ignore[misc]
        primitives = best_of(lambda bodies=bodies: run_primitives(bodies))  # type: ignore[misc]
        tokens = sum(map(seed_tokens, bodies.values()))
        costs[scale] = merged
        print(f"\n{tokens} tokens: merge {merged * 1e3:.1f} ms, primitives {primitives * 1e3:.1f} ms")
        assert merged <= MOST_TIMES_THE_PRIMITIVES * primitives
    assert costs[10] <= 15 * costs[1]
