"""Which lines say that an issue is settled, and which issue they mean."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from app.domain.working_memory.coverage import content_words

LEAST_SHARE_PERCENT: Final = 30
_MOST_CANDIDATES: Final = 64

_DONE: Final = r"(?:resolved|done|closed|fixed|solved|completed|finished)"
_DONE_CJK: Final = (
    r"(?:已经解决|已解决|已解決|已完成|已修复|已修復|已修|已关闭|已關閉|已处理|已處理|解决了|搞定"
    r"|解決済み?|対応済み?|修正済み?|完了|クローズ済み?)"
)
_TAG: Final = re.compile(
    rf"^[\W_]*{_DONE}\s*(?:[\])】:*]|\s[-–—]\s|_)"
    rf"|[\[(【]\s*{_DONE}(?:\s+(?:in|on|with|via|at|since|\d)[^\])】]{{0,80}})?\s*[\])】]"
    rf"|(?:[:;,]|\s[-–—])\s*{_DONE}[\s.!*_]*$"
    rf"|^[\W_]*{_DONE_CJK}|[\[(【:,;、\s–—-]\s?{_DONE_CJK}|(?<![未没沒不]){_DONE_CJK}[\s。.!*_)\]】]*$"
    r"|[✅✔☑]|^\[x\]|^~~.+~~[\s.]*$"
)
_TAG_WORDS: Final = re.compile(rf"\b{_DONE}\b|{_DONE_CJK}")


def is_settled(text: str) -> bool:
    """Tell whether the first line of an item is tagged as resolved, in English, Chinese or Japanese, or struck."""
    line = unicodedata.normalize("NFKC", text.split("\n", 1)[0]).casefold().strip()
    return len(line) <= 2000 and not line.endswith("?") and _TAG.search(line) is not None


def settled_issues(lines: Sequence[str], issues: Sequence[str]) -> Mapping[int, int]:
    """Return which issue each tagged line settles, both by index; one line settles one issue.

    A line settles the untaken issue with which it shares most, at least 30 percent of the shorter set of words.
    """
    subjects = [_subject(issue) for issue in issues]
    places: dict[str, list[int]] = defaultdict(list)
    for index, subject in enumerate(subjects):
        for word in subject:
            places[word].append(index)
    taken: set[int] = set()
    settled: dict[int, int] = {}
    for line_index, line in enumerate(lines):
        if not is_settled(line):
            continue
        issue = _closest(_subject(line), subjects, places, taken)
        if issue is not None:
            taken.add(issue)
            settled[line_index] = issue
    return settled


def _subject(text: str) -> frozenset[str]:
    return content_words(_TAG_WORDS.sub(" ", unicodedata.normalize("NFKC", text).casefold()))


def _closest(
    words: frozenset[str], subjects: Sequence[frozenset[str]], places: Mapping[str, list[int]], taken: set[int]
) -> int | None:
    shared: Counter[int] = Counter()
    for word in sorted(words):
        shared.update([index for index in places.get(word, ())[:_MOST_CANDIDATES] if index not in taken])
    shares = {
        index: count * 100 // min(len(words), len(subjects[index]))
        for index, count in shared.items()
        if count * 100 >= LEAST_SHARE_PERCENT * min(len(words), len(subjects[index]))
    }
    return max(shares, key=lambda index: (shares[index], -index), default=None)
