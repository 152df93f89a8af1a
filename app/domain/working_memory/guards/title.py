"""The title stays with its subject."""

from app.domain.working_memory.guards.verdict import Guard, Reason, Verdict
from app.domain.working_memory.items import read_items
from app.domain.working_memory.operations import KEEP, Append, Update
from app.domain.working_memory.stop_words import TITLE_CJK, TITLE_WORDS
from app.domain.working_memory.wording import is_cjk, singular, subject_pairs, title_tokens


def guard_title(op: Update | Append, old: str) -> Verdict:
    """Refuse a title that shares no meaningful word with the old one, and a second line below it."""
    if isinstance(op, Append):
        return _guard_append(op, old)
    words = title_words(old)
    if not words or words & title_words(op.content):
        return Verdict(op)
    return Verdict(KEEP, Guard.TITLE_STABILITY, Reason.NO_COMMON_WORD)


def _guard_append(op: Append, old: str) -> Verdict:
    line = next((line for item in op.items for line in item.split("\n") if line.strip()), "")
    if not line or read_items(old):
        return Verdict(KEEP, Guard.TITLE_STABILITY, Reason.TITLE_IS_ONE_LINE)
    return Verdict(Update(line.strip(), op.truncated), Guard.TITLE_STABILITY, Reason.TITLE_IS_ONE_LINE)


def title_words(title: str) -> frozenset[str]:
    """Return what a title is about: words of two letters and more, versions, CJK character pairs; no bare numbers."""
    found: set[str] = set()
    for item in read_items(title):
        for word in title_tokens(item.said):
            if is_cjk(word):
                found.update(_cjk_words(word))
            elif len(word) > 1 and not word.isdecimal() and word not in TITLE_WORDS:
                found.add(singular(word))
    return frozenset(found)


def _cjk_words(run: str) -> set[str]:
    for filler in TITLE_CJK:
        run = run.replace(filler, " ")
    return {pair for part in run.split() for pair in subject_pairs(part)}
