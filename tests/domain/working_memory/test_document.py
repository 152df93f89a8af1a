"""Reading and writing the document: headers, fences, comments, line ends, abstracts."""

import pytest

from app.domain.working_memory.document import (
    abstract,
    abstract_of_text,
    confined_body,
    has_sections,
    parse_document,
    render_document,
)
from app.domain.working_memory.sections import SECTIONS, Section

STATE, ISSUES, FILES, TITLE = (
    Section.CURRENT_STATE,
    Section.OPEN_ISSUES,
    Section.FILES_AND_CONTEXT,
    Section.SESSION_TITLE,
)


@pytest.mark.parametrize(
    ("text", "bodies"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param("## Current State\nfitting blades", {STATE: "fitting blades"}, id="one section"),
        pytest.param("  ##   current   STATE ##\nx", {STATE: "x"}, id="spelling of a header is free"),
        pytest.param("## Errors and Corrections\n- a", {Section.ERRORS_AND_CORRECTIONS: "- a"}, id="and for &"),
        pytest.param("## Key Facts Decisions\n- a", {Section.KEY_FACTS: "- a"}, id="neither and nor &"),
        pytest.param("##\tCurrent State\nx", {}, id="a header needs a space"),
        pytest.param("### Current State\nx", {}, id="level three is text"),
        pytest.param("> ## Current State\nx", {}, id="a quoted header is text"),
        pytest.param("\ufeff## Current State\nx", {STATE: "x"}, id="byte order mark"),
        pytest.param("## Current State\r\na\rb\n", {STATE: "a\nb"}, id="CR and CRLF end lines"),
        pytest.param("## Current State\na\x0b\x0cb\u2028c", {STATE: "a\x0b\x0cb\u2028c"}, id="nothing else does"),
        pytest.param("## Current State\n\n\n    a\n  b  \n\n", {STATE: "    a\n  b"}, id="first indent stays"),
        pytest.param("intro\n## Current State\nx", {STATE: "x"}, id="text before the first header goes"),
        pytest.param("## Open Issues\n- a\n## Open Issues\n- b", {ISSUES: "- a\n- b"}, id="repeats are joined"),
        pytest.param("## Open Issues\n- a\n## Parking\n- b", {ISSUES: "- a\n## Parking\n- b"}, id="other headings"),
        pytest.param("## 会話\n甲\n## Open Issues\n- 乙", {ISSUES: "- 乙"}, id="headings of other languages"),
    ],
)
def test_only_the_seven_names_open_a_section(text: str, bodies: dict[Section, str]) -> None:
    assert parse_document(text) == bodies


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("```\n## Open Issues\n```\nafter", id="backticks"),
        pytest.param("~~~md\n## Open Issues\n```\n~~~\nafter", id="tildes around backticks"),
        pytest.param("````\n```\n## Open Issues\n````\nafter", id="longer fence around a shorter one"),
        pytest.param("- ```sh\n  ## Open Issues\n  ```\n- after", id="fence right after a mark"),
        pytest.param("1. ~~~\n## Open Issues\n~~~\n- after", id="fence after a number"),
        pytest.param("<!--\n## Open Issues\n-->\nafter", id="comment"),
        pytest.param("- note <!-- begins\n## Open Issues\nends -->\nafter", id="comment behind text"),
    ],
)
def test_fenced_and_commented_headers_are_text(body: str) -> None:
    text = f"## Files & Context\n{body}\n## Open Issues\n- real"
    assert parse_document(text) == {FILES: body, ISSUES: "- real"}


def test_a_fenced_canonical_header_steals_nothing() -> None:
    bodies = parse_document(
        "## Files & Context\n```\n## Key Facts & Decisions\n- fake\n```\n## Key Facts & Decisions\n- x"
    )
    assert bodies[Section.KEY_FACTS] == "- x"


@pytest.mark.parametrize("opener", ["```", "~~~~", "- ```py", "<!--"])
def test_what_nobody_closes_ends_with_its_section(opener: str) -> None:
    bodies = parse_document(f"## Files & Context\n{opener}\ncode\n## Open Issues\n- a")
    assert bodies[ISSUES] == "- a"
    rendered = render_document(bodies)
    assert list(parse_document(rendered)) == list(SECTIONS)
    assert render_document(parse_document(rendered)) == rendered


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("```markdown\n{}\n```", id="with a language"),
        pytest.param("\n~~~\n{}\n~~~\n\n", id="tildes and blank lines"),
        pytest.param("Here it is:\n\n```\n{}\n```\nDone.", id="between sentences"),
        pytest.param("```md\n{}", id="cut before the end"),
    ],
)
def test_one_fence_around_the_whole_is_taken_off(text: str) -> None:
    inner = "# Working Memory\n\n## Current State\n```\nrun\n```\n\n## Open Issues\n- door"
    assert parse_document(text.format(inner)) == {STATE: "```\nrun\n```", ISSUES: "- door"}


def test_rendering_writes_every_section_once() -> None:
    assert render_document({ISSUES: "- a\n"}) == (
        "# Working Memory\n\n## Session Title\n\n## Current State\n\n## Task & Goals\n\n## Key Facts & Decisions\n\n"
        "## Files & Context\n\n## Errors & Corrections\n\n## Open Issues\n- a\n"
    )


@pytest.mark.parametrize(
    ("body", "confined"),
    [
        ("a\n## open issues\nb", "a\n### open issues\nb"),
        ("a\n## Usage\nb", "a\n## Usage\nb"),
        ("```\n## Open Issues", "```\n## Open Issues\n```"),
        ("x <!-- y", "x <!-- y\n-->"),
        ("  two\n", "  two"),
    ],
)
def test_no_body_reaches_into_another_section(body: str, confined: str) -> None:
    assert confined_body(body) == confined


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Working Memory\n\n## Session Title\nx", True),
        ("## errors and corrections\n", True),
        ("# Summary\nold notes", False),
        ("```\n# Working Memory\n## Open Issues\n```", True),
        ("quoted: ## Open Issues", False),
        ("", False),
    ],
)
def test_a_document_is_known_by_its_headers(text: str, expected: bool) -> None:
    assert has_sections(text) is expected


@pytest.mark.parametrize(
    ("title", "state", "expected"),
    [
        ("Kiln log", "Door is cracked. Glaze ordered.", "Kiln log — Door is cracked."),
        ("_A short label._\nKiln log", "- Waiting for bricks", "Kiln log — Waiting for bricks"),
        ("窑炉日志", "炉门开裂。釉料已订。", "窑炉日志 — 炉门开裂。"),
        ("窯の記録", "扉にひび。釉薬を注文した。", "窯の記録 — 扉にひび。"),
        ("", "Only a state", "Only a state"),
        ("Kiln log", "None.", "Kiln log"),
        ("Kiln v2.1", "Version 2.1 fired. Done.", "Kiln v2.1 — Version 2.1 fired."),
        ("", "", ""),
    ],
)
def test_an_abstract_is_the_title_and_the_first_sentence_of_the_state(title: str, state: str, expected: str) -> None:
    assert abstract({TITLE: title, STATE: state}) == expected


def test_an_abstract_is_cut_to_two_hundred_characters() -> None:
    short = abstract({TITLE: "Kiln log", STATE: "brick " * 100})
    assert len(short) <= 200
    assert short.endswith("…")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Summary\n\n**Result**: glaze holds\nmore", "glaze holds"),
        ("\n\nfirst words\nmore", "first words"),
        ("## Session Title\nKiln\n## Key Facts & Decisions\n**Oven**: hot", "Kiln"),
        ("", ""),
    ],
)
def test_older_texts_have_an_abstract_too(text: str, expected: str) -> None:
    assert abstract_of_text(text) == expected
