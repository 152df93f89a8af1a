"""Section sizes and the warnings that come of them."""

import pytest

from app.domain.working_memory.sections import SECTIONS, Section
from app.domain.working_memory.sentinel import SENTINEL
from app.domain.working_memory.sizes import newest_items, section_sizes, size_warnings


def characters(text: str) -> int:
    return len(text)


def bullets(count: int, text: str = "x") -> str:
    return "\n".join(f"- {text}" for _ in range(count))


@pytest.mark.parametrize("section", [one for one in SECTIONS if one is not Section.ERRORS_AND_CORRECTIONS])
def test_a_section_is_warned_about_above_its_limits(section: Section) -> None:
    assert size_warnings({section: bullets(25)}, characters) == ()
    (warning,) = size_warnings({section: bullets(26)}, characters)
    assert (warning.section, warning.bullets, warning.tokens) == (section, 26, 103)
    assert size_warnings({section: "x" * 1500}, characters) == ()
    (warning,) = size_warnings({section: "x" * 1501}, characters)
    assert (warning.bullets, warning.tokens) == (1, 1501)


def test_errors_are_never_warned_about_because_they_may_not_shrink() -> None:
    assert size_warnings({Section.ERRORS_AND_CORRECTIONS: bullets(90)}, characters) == ()


def test_files_are_not_warned_about_by_the_number_of_their_paths() -> None:
    paths = "\n".join(f"- log/day_{number}.md" for number in range(30))
    assert size_warnings({Section.FILES_AND_CONTEXT: paths}, characters) == ()
    assert size_warnings({Section.FILES_AND_CONTEXT: f"{paths}\n{bullets(26)}"}, characters) != ()
    assert size_warnings({Section.FILES_AND_CONTEXT: paths * 4}, characters) != ()


def test_warnings_come_in_the_order_of_the_document() -> None:
    bodies = {section: bullets(30) for section in reversed(SECTIONS)}
    warned = [size.section for size in size_warnings(bodies, characters)]
    assert warned == [section for section in SECTIONS if section is not Section.ERRORS_AND_CORRECTIONS]


@pytest.mark.parametrize(
    ("body", "size"),
    [
        ("", (0, 0)),
        (f"- a\n- {SENTINEL}", (1, 3)),
        (f"- {SENTINEL}", (0, 0)),
        ("_hint_ line\n```\ncode\n```", (1, 24)),
        ("- a\n  - b\n  wrapped", (2, 19)),
    ],
)
def test_sizes_leave_the_sentinel_and_fences_out_of_the_bullets(body: str, size: tuple[int, int]) -> None:
    facts = section_sizes({Section.KEY_FACTS: body}, characters)[3]
    assert (facts.bullets, facts.tokens) == size


def test_a_section_that_only_grows_can_be_shown_by_its_newest_items() -> None:
    body = "# Log\n- one\n  more\n- two\n- three\n  - why"
    assert newest_items(body, 5).body == body
    shown = newest_items(body, 2)
    assert (shown.body, shown.left_out) == ("- two\n- three\n  - why", 1)
