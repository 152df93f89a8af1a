"""The handed vectors: what users of the earlier system rely on, exactly, and the better rules where it did harm."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from app.domain.working_memory.anchors import find_anchors
from app.domain.working_memory.answers import read_answer, recover_ops
from app.domain.working_memory.deferral import DeferredItem
from app.domain.working_memory.document import abstract_of_text, parse_document, render_document
from app.domain.working_memory.dry_run import dry_parse
from app.domain.working_memory.guards.errors import guard_errors
from app.domain.working_memory.guards.issues import RESTORED
from app.domain.working_memory.guards.verdict import Verdict
from app.domain.working_memory.incoming import sanitised_op
from app.domain.working_memory.items import read_items
from app.domain.working_memory.merge import MergeResult, judge, merge
from app.domain.working_memory.operations import KEEP, Append, Update, op_document, read_op
from app.domain.working_memory.references import comparable_references, find_references
from app.domain.working_memory.sections import SECTIONS, Bodies, Section
from app.domain.working_memory.sentinel import SENTINEL
from tests.support.handed_data import load_test_data, skipped_without_data
from tests.support.seed_tokens import seed_tokens

GUARDED = {
    "title_stability": Section.SESSION_TITLE,
    "title": Section.SESSION_TITLE,
    "key_facts": Section.KEY_FACTS,
    "files_no_regression": Section.FILES_AND_CONTEXT,
    "files": Section.FILES_AND_CONTEXT,
    "append_only": Section.ERRORS_AND_CORRECTIONS,
    "open_issues": Section.OPEN_ISSUES,
    "issues": Section.OPEN_ISSUES,
}


def in_our_words(value: Any) -> Any:
    text = json.dumps(value).replace("{{SENTINEL}}", json.dumps(SENTINEL)[1:-1]).replace("{{RESTORED}}", RESTORED)
    return json.loads(text)


def cases(file: str, key: str, keep: Callable[[dict[str, Any]], bool]) -> Iterable[Any]:
    handed = load_test_data("vectors", file)
    found = [pytest.param(case, id=case["id"]) for case in (handed or {}).get(key, ()) if keep(case)]
    return found or [skipped_without_data()]


def comparable_op(op: Any) -> dict[str, Any]:
    """Compare operations as the vectors do: no usable item is KEEP, padding does not count."""
    name = op.get("op") if isinstance(op, dict) else None
    match name.upper() if isinstance(name, str) else "":
        case "UPDATE":
            return {"op": "UPDATE", "content": str(op.get("content", "")).strip()}
        case "APPEND" if isinstance(op.get("items"), list):
            items = [item.strip() for item in op["items"] if isinstance(item, str) and item.strip()]
            return {"op": "APPEND", "items": items} if items else {"op": "KEEP"}
        case _:
            return {"op": "KEEP"}


def judged(section: Section, given: dict[str, Any]) -> Verdict:
    old, op = given["old"] or "", read_op(given["op"]) or KEEP
    if section is Section.ERRORS_AND_CORRECTIONS and isinstance(op, Update | Append):
        # These vectors also ask the guard about an empty section, which a merge does not do.
        safe = sanitised_op(section, op)
        assert isinstance(safe, Update | Append)
        return guard_errors(safe, old)
    return judge(section, op, old, seed_tokens)


def merged(document: str | None, rounds: list[Any]) -> MergeResult:
    bodies: Bodies = parse_document(document or "")
    deferred: tuple[DeferredItem, ...] = ()
    result = merge(bodies, {}, count_tokens=seed_tokens)
    for ops in rounds:
        result = merge(bodies, read_answer(ops).ops, count_tokens=seed_tokens, deferred=deferred)
        bodies, deferred = result.bodies, result.deferred
    return result


def shown(bodies: dict[Section, str]) -> list[list[str]]:
    return [[f"## {section}", body] for section, body in bodies.items()]


def recovered(raw: str | None) -> dict[str, Any]:
    return {section.value: op_document(op) for section, op in recover_ops(raw or "").items()}


ANSWERS: dict[str, tuple[Callable[[dict[str, Any]], Any], Callable[[dict[str, Any]], Any]]] = {
    "parse_sections": (lambda given: shown(parse_document(given["text"] or "")), lambda right: right["sections"]),
    "extract_bullets": (
        lambda given: [item.text for item in read_items(given["text"] or "") if item.bullets],
        lambda right: right["items"],
    ),
    "merge": (
        lambda given: render_document(merged(given["old"], [given["ops"]]).bodies),
        lambda right: right["document"],
    ),
    "merge_rounds": (
        lambda given: render_document(merged(given["old"], given["rounds"]).bodies),
        lambda right: right["document"],
    ),
    "recover_ops_from_raw": (lambda given: recovered(given["raw"]), lambda right: right["ops"]),
    "reminders": (
        lambda given: dry_parse({"document": given["document"]}, seed_tokens)["warnings"],
        lambda right: right["warnings"],
    ),
    "token_text": (lambda given: seed_tokens(given["text"] or ""), lambda right: right["tokens"]),
    "files_path_match": (lambda given: find_references(given["text"]), lambda right: right["paths"]),
    "abstract_from_overview": (lambda given: abstract_of_text(given["overview"]), lambda right: right["abstract"]),
}


def of_the_core(case: dict[str, Any]) -> bool:
    return case["group"] in {*GUARDED, *ANSWERS, "lexical_anchors"}


@pytest.mark.parametrize(
    "case",
    cases("working_memory.json", "vectors", lambda case: of_the_core(case) and case["status"] == "conform"),
)
def test_conforming_vectors_hold_exactly(case: dict[str, Any]) -> None:
    given, right = in_our_words(case["input"]), in_our_words(case["expected"])
    group = case["group"]
    if group in GUARDED:
        got = op_document(judged(GUARDED[group], given).op)
        assert comparable_op(got) == comparable_op(right["op"])
    elif group == "lexical_anchors":
        # More kinds of anchors are known here, so more may be found.
        assert set(right["anchors"]) <= {anchor.text for anchor in find_anchors(given["text"])}
    else:
        ours, theirs = ANSWERS[group]
        assert ours(given) == theirs(right)


@pytest.mark.parametrize(
    "case",
    cases("working_memory.json", "vectors", lambda case: of_the_core(case) and case["status"] == "peer_crash"),
)
def test_operations_of_a_wrong_type_keep_the_section(case: dict[str, Any]) -> None:
    given = in_our_words(case["input"])
    if case["group"] in GUARDED:
        assert judged(GUARDED[case["group"]], given).op == KEEP
    else:
        result = merged(given["old"], [given["ops"]])
        assert not any(decision.changed for decision in result.decisions)


@pytest.mark.parametrize(
    "case",
    cases(
        "working_memory.json",
        "vectors",
        lambda case: case["status"] == "divergence_ok" and case["group"] in {*GUARDED, "merge", "merge_rounds"},
    ),
)
def test_nothing_is_lost_where_the_earlier_system_lost_it(case: dict[str, Any]) -> None:
    given = in_our_words(case["input"])
    section = GUARDED.get(case["group"])
    document = f"## {section}\n{given['old']}\n" if section else given["old"]
    rounds = [{section: given["op"]}] if section else given.get("rounds", [given.get("ops")])
    before, result = parse_document(document), merged(document, rounds)
    after = result.bodies
    assert list(parse_document(render_document(after))) == list(SECTIONS)
    errors = Section.ERRORS_AND_CORRECTIONS
    assert after[errors].startswith(before.get(errors, ""))
    files = Section.FILES_AND_CONTEXT
    assert comparable_references(before.get(files, "")) <= comparable_references(after[files])
    said = [item.key for item in read_items(after[Section.KEY_FACTS])]
    said += [item.key for waiting in result.deferred for item in read_items(waiting.text)]
    for item in read_items(before.get(Section.KEY_FACTS, "")):
        assert item.text == SENTINEL or any(item.key in key for key in said)


def is_a_case_of_the_core(case: dict[str, Any]) -> bool:
    return case["area"] in BETTER or (case["area"] in GUARDED and "op" in case["input"])


BETTER: dict[str, Callable[[dict[str, Any], Any], Any]] = {
    "rounds": lambda given, right: {
        name: merged(given["old"], given["rounds"]).bodies[Section(name)] for name in right
    },
    "items": lambda given, _: [item.text for item in read_items(given["text"]) if item.bullets],
    "parse": lambda given, _: shown(parse_document(given["text"])),
    "paths": lambda given, _: find_references(given["text"]),
    "anchors": lambda given, _: sorted(anchor.text for anchor in find_anchors(given["text"])),
    "recover": lambda given, _: recovered(given["raw"]),
    "abstract": lambda given, _: abstract_of_text(given["overview"]),
}


@pytest.mark.parametrize("case", cases("working_memory_better.json", "cases", is_a_case_of_the_core))
def test_better_rules_hold(case: dict[str, Any]) -> None:
    given, right = in_our_words(case["input"]), in_our_words(case["better_result"])
    if case["area"] in BETTER:
        got = BETTER[case["area"]](given, right)
        assert got == (sorted(right) if case["area"] == "anchors" else right)
        return
    verdict = judged(GUARDED[case["area"]], given)
    assert comparable_op(op_document(verdict.op)) == comparable_op(right)
    if "deferred" in right:
        assert [item.text for item in verdict.deferred] == right["deferred"]
