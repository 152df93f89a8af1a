"""What holds for every document and every answer, however odd."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.working_memory.answers import read_answer, read_created
from app.domain.working_memory.deferral import DeferredItem
from app.domain.working_memory.document import DOCUMENT_TITLE, parse_document, render_document
from app.domain.working_memory.guards.issues import RESTORED
from app.domain.working_memory.incoming import sanitised_op
from app.domain.working_memory.items import item_of, key_of, read_items
from app.domain.working_memory.merge import MergeResult, merge, requested_op
from app.domain.working_memory.operations import Append, Update
from app.domain.working_memory.references import comparable_references
from app.domain.working_memory.resolution import is_settled
from app.domain.working_memory.sections import SECTIONS, Section
from app.domain.working_memory.sentinel import SENTINEL, is_sentinel
from app.domain.working_memory.wording import normalised, without_marks

# Other processes may hold the machine; how cost grows is tested elsewhere.
unhurried = settings(deadline=None)

PHRASES = [
    "Ingrid runs the night boat", "pump 1 runs at level 1", "pump 1", "budget is 40 dollars", "use pytest", "use py",
    "launch on 2031-04-02", "上线日期 2031-04-02 确定", "林晓雨负责硬件", "阀门编号写反了", "阀门", "泵房漏水待查",
    "会議は金曜日に延期された", "料金表を更新する", "ログイン画面の不具合", "не работает вход",
    "tools/berths.py - importer", "conf/fares.yaml", "C:\\ctl\\main.py - loop", "https://tides.example/a?b=1",
    "ticket HBR-12", "#482 still crashes",
    "文档/方案.md", "修改了tools/berths.py文件", "[resolved] pump 1", "budget (done)", "泵房漏水：已解决",
    "None.", "无", "なし",
    "_What is still open._", "**Fare table** rounds up", "2031. was a leap year", "a_b_c __init__ *.py", "x", "一",
    "...", "---",
]  # fmt: skip
STRUCTURE = [
    "```", "```md", "~~~", "- ```", "## Usage", "## Open Issues", "## key facts and decisions ##", "  ## Session Title",
    "# Working Memory", "<!--", "-->", "<!-- note -->", "", "   ", "### Milestone", "- - double", f"- {SENTINEL}",
    f"- {RESTORED} old leak", "| a | b |", "> quoted", "\ufeff", "\f## Current State", "a\u2028b", "-", "1.",
]  # fmt: skip
MARKS = ["- ", "* ", "1. ", "  - ", "", "    ", "一、", "• "]

lines = st.one_of(
    st.builds(str.__add__, st.sampled_from(MARKS), st.sampled_from(PHRASES)),
    st.sampled_from(STRUCTURE),
    st.text(max_size=12),
)
texts = st.lists(lines, max_size=10).map("\n".join)
facts = st.sampled_from(PHRASES)
long_sections = st.integers(20, 60).map(lambda count: "\n".join(f"- pump {n} runs at level {n}" for n in range(count)))
bodies_of_sections = st.one_of(texts, long_sections)
documents = st.one_of(
    texts,
    st.dictionaries(st.sampled_from(SECTIONS), bodies_of_sections).map(
        lambda found: "\n".join(f"## {section}\n{body}" for section, body in found.items())
    ),
)
junk = st.one_of(st.none(), st.integers(), st.floats(), st.booleans(), texts, st.lists(st.integers(), max_size=3))
operations = st.one_of(
    st.just({"op": "KEEP"}),
    st.builds(lambda content: {"op": "UPDATE", "content": content}, st.one_of(texts, texts, junk)),
    st.builds(
        lambda items: {"op": "append", "items": items}, st.one_of(st.lists(st.one_of(facts, texts), max_size=8), junk)
    ),
    st.builds(lambda name, content: {"op": name, "content": content}, junk, texts),
    junk,
)
requests = st.dictionaries(st.sampled_from([*map(str, SECTIONS), "Notes"]), operations, max_size=7)


def words(text: str) -> int:
    return len(text.split()) + sum(character > "\u3000" for character in text)


def merged(document: str, ops: Any, deferred: Sequence[DeferredItem] = ()) -> MergeResult:
    return merge(parse_document(document), ops, count_tokens=words, deferred=deferred)


def said_keys(body: str) -> list[str]:
    return [item.key for item in read_items(body) if item.key and not is_sentinel(item.text)]


def is_said(key: str, body: str, result: MergeResult, section: Section) -> bool:
    waiting = {key_of(item.text) for item in result.deferred if item.section is section}
    return key in waiting or any(key in item.key for item in read_items(body))


def offered_keys(section: Section, ops: Any) -> list[str]:
    op = sanitised_op(section, requested_op(ops, section))
    if isinstance(op, Update):
        return said_keys(op.content)
    items = map(item_of, op.items) if isinstance(op, Append) else ()
    return [item.key for item in items if item and item.key and not is_sentinel(item.text)]


@unhurried
@given(documents, requests)
def test_every_merge_gives_seven_sections_once_each(document: str, ops: Any) -> None:
    result = merged(document, ops)
    rendered = render_document(result.bodies)
    assert list(result.bodies) == list(SECTIONS)
    assert [decision.section for decision in result.decisions] == list(SECTIONS)
    assert rendered.startswith(f"{DOCUMENT_TITLE}\n")
    assert list(parse_document(rendered)) == list(SECTIONS)
    assert render_document(parse_document(rendered)) == rendered


@unhurried
@given(documents, requests)
def test_a_merge_gives_the_same_every_time(document: str, ops: Any) -> None:
    assert merged(document, ops) == merged(document, ops)


@unhurried
@given(documents, requests)
def test_kept_sections_stay_byte_for_byte(document: str, ops: Any) -> None:
    before = parse_document(document)
    result = merged(document, ops)
    for decision in result.decisions:
        if decision.requested == "KEEP":
            assert result.bodies[decision.section] == before.get(decision.section, "")
            assert not decision.changed


@unhurried
@given(documents, requests)
def test_no_error_ever_disappears(document: str, ops: Any) -> None:
    before = parse_document(document).get(Section.ERRORS_AND_CORRECTIONS, "")
    after = said_keys(merged(document, ops).bodies[Section.ERRORS_AND_CORRECTIONS])
    assert set(said_keys(before)) <= set(after)


@unhurried
@given(documents, requests)
def test_no_path_ever_disappears(document: str, ops: Any) -> None:
    before = parse_document(document).get(Section.FILES_AND_CONTEXT, "")
    after = merged(document, ops).bodies[Section.FILES_AND_CONTEXT]
    assert comparable_references(before) <= comparable_references(after)


@unhurried
@given(documents, requests)
def test_every_fact_is_in_the_document_or_deferred(document: str, ops: Any) -> None:
    before = parse_document(document).get(Section.KEY_FACTS, "")
    result = merged(document, ops)
    body = result.bodies[Section.KEY_FACTS]
    for key in [*said_keys(before), *offered_keys(Section.KEY_FACTS, ops)]:
        assert is_said(key, body, result, Section.KEY_FACTS), key


@unhurried
@given(documents, requests)
def test_no_open_issue_disappears_in_silence(document: str, ops: Any) -> None:
    before = parse_document(document).get(Section.OPEN_ISSUES, "")
    result = merged(document, ops)
    body = result.bodies[Section.OPEN_ISSUES]
    resolutions = sum(is_settled(item.text) for item in read_items(body))
    gone = 0
    for item in read_items(before):
        key = normalised(without_marks(item.said.replace(RESTORED, "", 1)))
        if key and not is_settled(item.text):
            words_of = set(key.split())
            kept = is_said(key, body, result, Section.OPEN_ISSUES)
            gone += not kept and not any(words_of <= set(now.key.split()) for now in read_items(body))
    assert gone <= resolutions


@unhurried
@given(documents, requests)
def test_the_same_answer_twice_adds_nothing(document: str, ops: Any) -> None:
    once = merged(document, ops)
    twice = merge(once.bodies, ops, count_tokens=words, deferred=once.deferred)
    for section in SECTIONS:
        assert set(said_keys(twice.bodies[section])) <= set(said_keys(once.bodies[section])), section
    assert len(render_document(twice.bodies)) <= len(render_document(once.bodies))


@unhurried
@given(documents, st.lists(requests, min_size=2, max_size=4))
def test_facts_stay_over_many_rounds(document: str, rounds: list[Any]) -> None:
    bodies, deferred = parse_document(document), ()
    offered = said_keys(bodies.get(Section.KEY_FACTS, ""))
    for ops in rounds:
        offered += offered_keys(Section.KEY_FACTS, ops)
        result = merge(bodies, ops, count_tokens=words, deferred=deferred)
        bodies, deferred = result.bodies, result.deferred
        for key in offered:
            assert is_said(key, bodies[Section.KEY_FACTS], result, Section.KEY_FACTS), key


@unhurried
@given(st.one_of(texts, junk, st.dictionaries(st.text(max_size=5), junk), requests, requests.map(str)))
def test_reading_an_answer_never_fails(answer: Any) -> None:
    assert all(section in SECTIONS for section in read_answer(answer).ops)
    created = read_created(answer)
    assert created is None or len(created.bodies) == len(SECTIONS)
