"""No open issue disappears in silence."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from app.domain.working_memory.containment import find_containing
from app.domain.working_memory.deferral import DeferralReason, DeferredItem
from app.domain.working_memory.guards.repeats import offered_items
from app.domain.working_memory.guards.verdict import Guard, Reason, Verdict, append_or_keep
from app.domain.working_memory.items import Item, read_items
from app.domain.working_memory.lines import fence_opener
from app.domain.working_memory.operations import Append, Update
from app.domain.working_memory.resolution import is_settled, settled_issues
from app.domain.working_memory.sections import Section
from app.domain.working_memory.wording import is_cjk, pairs, words

RESTORED: Final = "[restored]"
_MOST_CANDIDATES: Final = 32


def guard_issues(op: Update | Append, old: str, waiting: Sequence[DeferredItem]) -> Verdict:
    """Put back, once and marked, what a rewrite leaves out without resolving it.

    An issue that is left out a second time is deferred. waiting are deferred issues, which a new line may resolve.
    """
    known = [_unmarked(item) for item in read_items(old)]
    if isinstance(op, Append):
        return _guard_append(op, known, waiting)
    match = _Match(known, [_unmarked(item) for item in read_items(op.content)])
    match.run()
    settled = _settled([line.text for line in match.unused_lines()], waiting)
    missing = match.missing_issues()
    marked = {_unmarked(item).key for item in read_items(old) if RESTORED in item.text}
    again = [issue for issue in missing if issue.key in marked]
    restored = [issue for issue in missing if issue.key not in marked]
    deferred = tuple(
        DeferredItem(Section.OPEN_ISSUES, issue.text, DeferralReason.DROPPED_TWICE.value) for issue in again
    )
    if not restored:
        guard, reason = (Guard.OPEN_ISSUES, Reason.ISSUES_DROPPED_TWICE) if again else (Guard.NONE, Reason.NONE)
        return Verdict(op, guard, reason, deferred, settled=settled)
    content = "\n".join([op.content, *map(_restored_bullet, restored)])
    return Verdict(Update(content, op.truncated), Guard.OPEN_ISSUES, Reason.ISSUES_RESTORED, deferred, settled=settled)


def _guard_append(op: Append, known: list[Item], waiting: Sequence[DeferredItem]) -> Verdict:
    offered: dict[str, str] = {}
    for item in offered_items(op):
        offered.setdefault(_unmarked(item).key, item.text)
    there = {item.key for item in known} | {""}
    texts = [text for key, text in offered.items() if key not in there]
    settled = _settled(texts, waiting)
    if len(texts) == len(op.items) and texts:
        return Verdict(op, settled=settled)
    verdict = Verdict(op, Guard.NO_REPEATS, Reason.SOME_KNOWN if texts else Reason.ALL_KNOWN, settled=settled)
    if not op.items:
        verdict = Verdict(op, Guard.NOT_EMPTY, Reason.NO_TEXT)
    return append_or_keep(tuple(texts), verdict)


def _settled(lines: Sequence[str], waiting: Sequence[DeferredItem]) -> tuple[DeferredItem, ...]:
    return tuple(waiting[issue] for issue in settled_issues(lines, [item.text for item in waiting]).values())


def _unmarked(item: Item) -> Item:
    """Return the item without the restore marker, so that a model may keep or remove it."""
    if RESTORED not in item.text:
        return item
    return Item(item.text.replace(RESTORED, "", 1).strip(), item.bullets, item.said.replace(RESTORED, "", 1))


def _restored_bullet(item: Item) -> str:
    first, *rest = item.text.split("\n")
    if fence_opener(first):
        return "\n".join([f"- {RESTORED}", first, *rest])
    return "\n".join([f"- {RESTORED} {first}", *rest])


@dataclass(slots=True)
class _Match:
    """Pairs every old issue with one new line: equal, then contained, then with all its words, then resolved."""

    issues: list[Item]
    lines: list[Item]
    used: set[int] = field(default_factory=set)
    open: dict[str, Item] = field(default_factory=dict)

    def run(self) -> None:
        for issue in self.issues:
            if issue.key and not is_settled(issue.text):
                self.open.setdefault(issue.key, issue)
        self._equal()
        self._contained()
        self._with_all_words()
        self._resolved()

    def missing_issues(self) -> list[Item]:
        return list(self.open.values())

    def unused_lines(self) -> list[Item]:
        """Return the new lines that stand for no old issue and were not there before."""
        known = {issue.key for issue in self.issues}
        return [line for index, line in enumerate(self.lines) if index not in self.used and line.key not in known]

    def _take(self, key: str, line: int) -> None:
        self.used.add(line)
        del self.open[key]

    def _equal(self) -> None:
        for index, line in enumerate(self.lines):
            if line.key in self.open:
                self._take(line.key, index)

    def _contained(self) -> None:
        keys = list(self.open)
        places = find_containing(keys, [line.key for line in self.lines], most=_MOST_CANDIDATES) if keys else {}
        for index, key in enumerate(keys):
            free = next((line for line in places.get(index, ()) if line not in self.used), None)
            if free is not None:
                self._take(key, free)

    def _with_all_words(self) -> None:
        if not self.open:
            return
        sets = {index: _all_words(line.said) for index, line in enumerate(self.lines) if index not in self.used}
        places: dict[str, list[int]] = defaultdict(list)
        for index, said in sets.items():
            for word in said:
                places[word].append(index)
        for key, issue in list(self.open.items()):
            needed = _all_words(issue.said)
            rarest = min((places.get(word, []) for word in needed), key=len, default=[])
            hits = (line for line in rarest[:_MOST_CANDIDATES] if line not in self.used and needed <= sets[line])
            line = next(hits, None)
            if line is not None:
                self._take(key, line)

    def _resolved(self) -> None:
        lines = [index for index in range(len(self.lines)) if index not in self.used]
        keys = list(self.open)
        issues = [self.open[key].said for key in keys]
        for line, issue in settled_issues([self.lines[index].text for index in lines], issues).items():
            self._take(keys[issue], lines[line])


def _all_words(text: str) -> frozenset[str]:
    found: set[str] = set()
    for word in words(text):
        found.update(pairs(word) if is_cjk(word) else (word,))
    return frozenset(found)
