"""A document in little room: the newest items, a line about the rest, and nothing lost by an answer to it."""

import pytest

from app.domain.excerpts import MOST_ERRORS, additions_only, fitting, newest_errors
from app.domain.working_memory.operations import KEEP, Append, Update
from app.domain.working_memory.sections import SECTIONS, Section

GROWING = (Section.KEY_FACTS, Section.FILES_AND_CONTEXT, Section.ERRORS_AND_CORRECTIONS, Section.OPEN_ISSUES)


def bullets(count: int, word: str = "thing") -> str:
    return "\n".join(f"- {word} number {n}" for n in range(count))


def document(items: int = 3) -> dict[Section, str]:
    return {section: bullets(items) if section in GROWING else "A line." for section in SECTIONS}


def words(text: str) -> int:
    return len(text.split())


def test_a_document_with_room_is_shown_as_it_is() -> None:
    excerpt = fitting(document(), room=1_000, count_tokens=words)
    assert (excerpt.bodies, excerpt.in_part) == (document(), frozenset())


def test_only_the_newest_corrections_are_shown() -> None:
    bodies = {**document(), Section.ERRORS_AND_CORRECTIONS: bullets(MOST_ERRORS + 7)}
    shown = newest_errors(bodies)
    assert shown.in_part == {Section.ERRORS_AND_CORRECTIONS}
    note, first, *rest = shown.bodies[Section.ERRORS_AND_CORRECTIONS].split("\n")
    assert "kept and not shown here: 7." in note
    assert (first, len(rest)) == ("- thing number 7", MOST_ERRORS - 1)
    assert {s: b for s, b in shown.bodies.items() if s not in shown.in_part} == {
        s: b for s, b in bodies.items() if s not in shown.in_part
    }
    assert newest_errors({**bodies, Section.ERRORS_AND_CORRECTIONS: bullets(MOST_ERRORS)}).in_part == frozenset()


@pytest.mark.parametrize("room", [0, 40, 100, 200, 400, 800])
def test_sections_that_grow_share_the_room_and_the_rest_stays_whole(room: int) -> None:
    bodies = document(40)
    excerpt = fitting(bodies, room=room, count_tokens=words)
    assert excerpt.in_part <= {*GROWING, Section.TASK_AND_GOALS}
    for section in SECTIONS:
        shown = excerpt.bodies[section]
        if section not in excerpt.in_part:
            assert shown == bodies[section]
            continue
        note, *items = shown.split("\n")
        assert f"kept and not shown here: {40 - len(items)}." in note
        assert items == (bodies[section].split("\n")[-len(items) :] if items else [])
    least = [body.split("\n")[0] if section in excerpt.in_part else body for section, body in excerpt.bodies.items()]
    assert sum(map(words, excerpt.bodies.values())) <= max(room, sum(map(words, least)))


def test_a_larger_room_never_shows_less() -> None:
    bodies = {**document(30), Section.OPEN_ISSUES: bullets(5)}
    shown = [
        sum(len(body.split("\n")) for body in fitting(bodies, room=room, count_tokens=words).bodies.values())
        for room in range(0, 600, 20)
    ]
    assert shown == sorted(shown)


def test_a_small_section_leaves_its_share_to_the_large_ones() -> None:
    bodies = {**document(2), Section.KEY_FACTS: bullets(200)}
    excerpt = fitting(bodies, room=400, count_tokens=words)
    assert excerpt.in_part == {Section.KEY_FACTS}
    assert words(excerpt.bodies[Section.KEY_FACTS]) > 300


def test_goals_give_way_where_title_state_and_goals_do_not_fit() -> None:
    bodies = {**document(2), Section.TASK_AND_GOALS: bullets(100)}
    excerpt = fitting(bodies, room=150, count_tokens=words)
    assert Section.TASK_AND_GOALS in excerpt.in_part
    assert "thing number 99" in excerpt.bodies[Section.TASK_AND_GOALS]


def test_a_rewrite_of_what_was_seen_in_part_adds_its_items() -> None:
    note = "[… older items of this section, kept and not shown here: 12. What is new can only be added]"
    ops = {
        Section.KEY_FACTS: Update(f"## Key Facts & Decisions\n{note}\n- one\n- two\n  more", truncated=True),
        Section.FILES_AND_CONTEXT: Append((f"- {note}", "a.py")),
        Section.ERRORS_AND_CORRECTIONS: KEEP,
        Section.CURRENT_STATE: Update("as it is"),
    }
    assert additions_only(ops, [*GROWING]) == {
        Section.KEY_FACTS: Append(("one", "two\n  more"), truncated=True),
        Section.FILES_AND_CONTEXT: Append(("a.py",)),
        Section.ERRORS_AND_CORRECTIONS: KEEP,
        Section.CURRENT_STATE: Update("as it is"),
    }
    assert additions_only(ops, []) == ops
