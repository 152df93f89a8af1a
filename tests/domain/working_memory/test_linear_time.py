"""The cost of reading and merging grows with the length of a text, also when the text is made to hurt."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from app.domain.working_memory.anchors import find_anchors
from app.domain.working_memory.answers import read_answer, read_created
from app.domain.working_memory.coverage import content_words
from app.domain.working_memory.document import abstract_of_text, parse_document, render_document
from app.domain.working_memory.items import item_of, read_items
from app.domain.working_memory.merge import merge
from app.domain.working_memory.operations import Append, Update
from app.domain.working_memory.references import find_references
from app.domain.working_memory.resolution import is_settled
from app.domain.working_memory.sections import SECTIONS
from app.domain.working_memory.wording import normalised

SHORT, GROWTH = 400, 8
# A quadratic cost would grow 64-fold; timing on a busy machine is rough.
MOST_GROWTH = 32
TOO_QUICK_TO_TELL = 0.02

HURTFUL = [
    "a", " ", "- ", "`", "```\n", "```a\n", "~~~\n", "<!--\n", "-->\n", "](", "1,", "1 ", "1.", "a/", "a.",
    "./", "中", "中a", "a中/", "**a", "_a ", "~~a", "\\", '"', '{"', '"Open Issues": ',
    '"Open Issues": {"op": "', "## ", "  ## Open Issues ##\n", "2031年", "C:\\", "\\u12", "http://", "A-1 ",
    "- x\n", "  - x\n", "(done ", "[resolved] a\n", "[⚠ CONSOLIDATION REQUIRED: a\n", "None\n", "<think>",
    "</think>", "一、", "Task    ", "1 January ", "a b c ", "12:", "\n", "\t",
]  # fmt: skip


def length(text: str) -> int:
    return len(text)


def merge_rewrite(text: str) -> object:
    cut = text[: len(text) * 6 // 7] + "\n- extra"
    return merge(dict.fromkeys(SECTIONS, text), dict.fromkeys(SECTIONS, Update(cut)), count_tokens=length)


def merge_items(text: str) -> object:
    items = Append((*text.split("\n"), "extra"))
    return merge(dict.fromkeys(SECTIONS, text), dict.fromkeys(SECTIONS, items), count_tokens=length)


READERS: list[Callable[[str], Any]] = [
    lambda text: [item.key for item in read_items(text)],
    item_of,
    normalised,
    find_anchors,
    find_references,
    content_words,
    is_settled,
    parse_document,
    abstract_of_text,
    lambda text: render_document(dict.fromkeys(SECTIONS, text)),
    read_answer,
    read_created,
    merge_rewrite,
    merge_items,
]


def cost(read: Callable[[str], Any], text: str) -> float:
    start = time.process_time()
    read(text)
    return time.process_time() - start


def grows_with_the_length(read: Callable[[str], Any], short: str, long: str) -> bool:
    """Try again before saying no, because another process may have had the cache for itself."""
    return any(
        (seconds := cost(read, long)) < TOO_QUICK_TO_TELL or seconds < MOST_GROWTH * cost(read, short) for _ in range(3)
    )


@pytest.mark.parametrize("piece", HURTFUL)
def test_the_cost_grows_with_the_length(piece: str) -> None:
    short, long = ((piece * size)[:size] for size in (SHORT, SHORT * GROWTH))
    assert [read for read in READERS if not grows_with_the_length(read, short, long)] == []


@pytest.mark.parametrize("same_words", [True, False])
def test_many_different_items_cost_in_proportion(same_words: bool) -> None:
    def document(count: int, start: int) -> str:
        word = "pump" if same_words else "word{0}"
        return "\n".join(
            f"- {word} runs at level {{0}} of {{0}}".format(number) for number in range(start, start + count)
        )

    def merge_different(count: str) -> object:
        old = dict.fromkeys(SECTIONS, document(int(count), 0))
        new = dict.fromkeys(SECTIONS, Update(document(int(count), int(count))))
        return merge(old, new, count_tokens=length)

    assert grows_with_the_length(merge_different, "100", "800")
