"""When two pieces of text say the same: normalised text, words, character pairs, marks that carry no meaning."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from app.domain.working_memory.stop_words import JAPANESE_GRAMMAR

# Han, kana, Hangul: scripts whose words are not set apart by spaces, or whose endings are glued on.
CJK: Final = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f"
)

_LIST_NUMBER: Final = r"[0-9０-９]{1,3}[.)]"
_CJK_NUMBER: Final = (
    r"(?:[0-9０-９]{1,3}[、．）](?![0-9０-９])|[（(]?[一二三四五六七八九十]{1,3}[）)]?、"
    r"|[（(][一二三四五六七八九十]{1,3}[）)])"
)
_ANY_MARK: Final = rf"(?:(?:[-*+–—]|{_LIST_NUMBER})\s+|[•·]\s*|{_CJK_NUMBER}\s*)"
LIST_MARK: Final = re.compile(rf"{_ANY_MARK}(?=\S)")
_LIST_MARKS: Final = re.compile(rf"{_ANY_MARK}+(?=\S)")
_LONE_MARK: Final = re.compile(rf"(?:[-*+•·–—]|{_LIST_NUMBER}|{_CJK_NUMBER})$")
_RULE: Final = re.compile(r"(?:-[ \t]*){3,}$|(?:\*[ \t]*){3,}$|(?:_[ \t]*){3,}$")

_INVISIBLE: Final = re.compile("[\u200b\u2060\ufeff\ufe0e\ufe0f\u00ad]")
_EMPHASIS: Final = re.compile(
    r"\*\*(?!\s)([^*\n]+)(?<!\s)\*\*|(?<![0-9A-Za-z])\*(?![\s*])([^*\n]+)(?<!\s)\*(?![0-9A-Za-z])"
    r"|~~(?!\s)([^~\n]+)(?<!\s)~~|(?<![0-9A-Za-z_])__?(?![\s_])([^_\n]+)(?<!\s)__?(?![0-9A-Za-z_])"
)
_OUTER_START: Final = " \t*_`\"'“”‘’「」『』《》"
_OUTER_END: Final = _OUTER_START + ".,;:!?。、…·"

_FILLERS: Final = frozenset(
    {
        "none",
        "nothing",
        "nothing yet",
        "none yet",
        "none so far",
        "none at the moment",
        "no open issues",
        "no issues",
        "empty",
        "n/a",
        "na",
        "n.a",
        "nil",
        "tbd",
        "无",
        "無",
        "暂无",
        "暫無",
        "没有",
        "沒有",
        "空",
        "未定",
        "无内容",
        "暂无内容",
        "なし",
        "無し",
        "特になし",
        "ありません",
        "特にありません",
        "該当なし",
        "未記入",
    }
)
_HINT: Final = re.compile(r"_[^_].*[^_]_$|\*[^*\s].*[^*\s]\*$")

_WORD: Final = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+")
_CJK_RUN: Final = re.compile(rf"[{CJK}]+")
_HIRAGANA: Final = frozenset(map(chr, range(0x3041, 0x3097)))
_SCRIPT: Final = re.compile("[\u3041-\u3096]+|[^\u3041-\u3096]+")
_TOKEN: Final = re.compile(rf"[{CJK}]|[^\W{CJK}]+|\W")
_TITLE_TOKEN: Final = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+(?:\.[^\W_{CJK}]+)*")


def normalised(text: str) -> str:
    """Return the text without anything that does not change what it says; '' for marks alone.

    Compatibility forms and case are folded, emphasis and outer punctuation removed, white space collapsed.
    """
    folded = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()
    plain = _EMPHASIS.sub(_inner, folded).replace("`", "")
    return " ".join(plain.split()).lstrip(_OUTER_START).rstrip(_OUTER_END)


def _inner(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group is not None)


def without_mark(trimmed: str) -> str:
    """Return a trimmed line without its one leading list mark."""
    match = LIST_MARK.match(trimmed)
    return trimmed[match.end() :] if match else trimmed


def without_marks(text: str) -> str:
    """Return a text without any list marks at its start, so that '- - a' and 'a' say the same."""
    trimmed = text.strip()
    match = _LIST_MARKS.match(trimmed)
    return trimmed[match.end() :] if match else trimmed


def has_mark(trimmed: str) -> bool:
    return LIST_MARK.match(trimmed) is not None


def is_mark_only(trimmed: str) -> bool:
    """Tell whether a trimmed line is a rule or a list mark with nothing behind it."""
    return _RULE.match(trimmed) is not None or _LONE_MARK.match(trimmed) is not None


def is_filler(trimmed: str) -> bool:
    """Tell whether a trimmed line only says that there is nothing to say, in English, Chinese or Japanese."""
    return len(trimmed) <= 40 and normalised(without_mark(trimmed)).strip("()[]（）【】 .。") in _FILLERS


def is_hint(trimmed: str) -> bool:
    """Tell whether a whole trimmed line is set in italics."""
    return len(trimmed) <= 400 and _HINT.match(trimmed) is not None


def words(text: str) -> Iterator[str]:
    """Yield folded runs of letters and digits; a run of CJK characters is one word."""
    yield from _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def is_cjk(word: str) -> bool:
    return _CJK_RUN.match(word) is not None


def pairs(run: str) -> list[str]:
    """Return the neighbouring character pairs of a CJK run, the character itself when it is alone."""
    return [run[index : index + 2] for index in range(len(run) - 1)] or [run]


def subject_pairs(run: str) -> list[str]:
    """Return the pairs of a CJK run that say what it is about: short hiragana between other letters is grammar."""
    parts = [part for part in _SCRIPT.findall(run) if part[0] not in _HIRAGANA or len(part) > 2]
    contents = [part for part in parts if part not in JAPANESE_GRAMMAR]
    return [pair for part in contents or [run] for pair in pairs(part)]


def tokens(text: str) -> list[str]:
    """Split normalised text so that joining gives it back: words, single CJK characters, single signs."""
    return _TOKEN.findall(text)


def singular(word: str) -> str:
    """Fold the plural endings of English words."""
    if len(word) <= 3 or not word.isascii() or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    return word[:-1]


def stem(word: str) -> str:
    """Fold simple English endings, so that 'repainted' meets 'repaint'."""
    folded = singular(word)
    if folded.isascii() and folded.endswith("ing") and len(folded) > 6:
        return folded[:-3]
    if folded.isascii() and folded.endswith("ed") and len(folded) > 5:
        return folded[:-2]
    return folded


def title_tokens(text: str) -> list[str]:
    """Return folded words in which inner dots stay, so that 'v2.1' and 'node.js' are one."""
    return _TITLE_TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())
