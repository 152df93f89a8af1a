"""Real conversations of many months, archive by archive, through the merge that the product uses."""

import json
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from app.domain.prompts import SpokenMessage
from app.domain.working_memory.answers import read_answer, read_created
from app.domain.working_memory.deferral import DeferredItem
from app.domain.working_memory.items import read_items
from app.domain.working_memory.merge import merge
from app.domain.working_memory.sections import SECTIONS, Bodies, Section
from app.domain.working_memory.sizes import section_sizes, size_warnings
from app.providers.extractive.model import ExtractiveModel
from app.providers.tokenizer import build_token_counter
from tests.support.model_requests import create_request, update_request

COUNT = build_token_counter("o200k_base")
MODEL = ExtractiveModel(COUNT)


def _conversation(number: int) -> dict[str, Any]:
    folder = os.environ.get("CAIRN_TEST_DATA")
    if not folder:
        pytest.skip("set CAIRN_TEST_DATA")
    return dict(json.loads((Path(folder) / "data" / "locomo" / f"{number}.json").read_text(encoding="utf-8")))


def _archives(told: dict[str, Any], *, named: bool) -> Iterator[list[SpokenMessage]]:
    seq = 0
    for session in range(1, 100):
        if f"session_{session}" not in told:
            return
        day = datetime.strptime(told[f"session_{session}_date_time"].split(" on ")[1], "%d %B, %Y").date()  # noqa: DTZ007 - a day
        messages = []
        for turn in told[f"session_{session}"]:
            seq += 1
            role = "user" if turn["speaker"] == told["speaker_a"] else "assistant"
            speaker = turn["speaker"] if named else None
            messages.append(SpokenMessage(seq, role, speaker, f"{day} 10:00", turn["text"]))
        yield messages


@pytest.mark.parametrize(
    ("number", "named"), [(26, True), (30, True), (41, True), (42, True), (26, False), (43, False)]
)
async def test_months_of_talk_fit_into_a_document_that_loses_nothing_unseen(number: int, named: bool) -> None:
    document: Bodies | None = None
    deferred: tuple[DeferredItem, ...] = ()
    written: list[str] = []
    for messages in _archives(_conversation(number), named=named):
        if document is None:
            first = read_created((await MODEL.call_tool(create_request(messages))).content)
            assert first is not None
            document = first.bodies
        else:
            answer = read_answer((await MODEL.call_tool(update_request(messages, document=document))).content)
            result = merge(document, answer.ops, count_tokens=COUNT, deferred=deferred)
            document, deferred = result.bodies, result.deferred
        written += [item.text for item in read_items(document[Section.KEY_FACTS]) if " / " not in item.text]
        assert size_warnings(document, COUNT) == ()
    assert document is not None
    assert all(document[section].strip() for section in SECTIONS)
    assert all(size.tokens <= 1_500 for size in section_sizes(document, COUNT))
    assert len(read_items(document[Section.KEY_FACTS])) >= 15
    kept = document[Section.KEY_FACTS] + "\n".join(item.text for item in deferred)
    assert [fact for fact in written if fact not in kept] == []
    for section in SECTIONS:
        keys = [item.key for item in read_items(document[section])]
        assert len(keys) == len(set(keys)), section
    errors, facts, issues = (
        {item.key for item in read_items(document[section])}
        for section in (Section.ERRORS_AND_CORRECTIONS, Section.KEY_FACTS, Section.OPEN_ISSUES)
    )
    assert not errors & facts
    assert not errors & issues
