"""Anchors: the exact things in a fact that a rewrite must not lose.

Dates, amounts and other values, words of decision, and names. Each token ends where its own kind ends, so a date or
a name that touches a Chinese or Japanese letter is found.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from app.domain.working_memory.stop_words import DECISION_CJK, DECISION_WORDS, NO_NAMES
from app.domain.working_memory.wording import CJK

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
            "september sept sep", "october oct", "november nov", "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH: Final = r"(?<![A-Za-z])(?:" + "|".join(name.capitalize() for name in _MONTHS) + r")(?![a-z])\.?"
_CLOCK: Final = r"(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
_DATE: Final = re.compile(
    rf"(?<!\d)(?P<y1>\d{{4}})(?P<sep>[-/.])(?P<m1>\d{{1,2}})(?P=sep)(?P<d1>\d{{1,2}})(?!\d){_CLOCK}"
    r"|(?<!\d)(?P<d2>\d{1,2})(?P<sep2>[./])(?P<m2>\d{1,2})(?P=sep2)(?P<y2>\d{4})(?!\d)"
    rf"|(?<!\d)(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\s{{1,3}}(?:of\s{{1,3}})?(?P<m3>{_MONTH})(?:,?\s{{1,3}}(?P<y3>\d{{4}})(?!\d))?"
    rf"|(?P<m4>{_MONTH})\s{{1,3}}(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,?\s{{1,3}}(?P<y4>\d{{4}})(?!\d))?"
    r"|(?:(?<!\d)(?P<y5>\d{4})\s?年\s?)?(?<!\d)(?P<m5>\d{1,2})\s?月\s?(?P<d5>\d{1,2})\s?[日号號]"
    r"|(?<!\d)(?P<y6>\d{4})\s?年\s?(?P<m6>\d{1,2})\s?月"
)

_UNIT: Final = (
    r"(?:years?|months?|weeks?|days?|kids?|children|hours?|minutes?|miles?|times?|sessions?|rounds?|visits?|dollars?"
    r"|euros?|pounds?|yen|yuan|bedrooms?|paintings?|people|persons?|percent)(?![A-Za-z])"
)
_NUMBER: Final = r"(?<![\d.,])\d[\d,]*(?:\.\d+)?"
_CURRENCY: Final = r"(?:USD|EUR|GBP|JPY|CNY|RMB|CHF|HKD|AUD|CAD)"
_CJK_COUNT: Final = r"(?:[一二两三四五六七八九十百千万萬亿億零〇]{1,12}|\d[\d,]*(?:\.\d+)?\s?[万萬亿億千]?)"
_CJK_UNIT: Final = (
    r"(?:万元|美元|欧元|歐元|日元|元|円|ドル|ユーロ|个月|個月|ヶ月|か月|小时|小時|時間|分钟|分鐘|分間|年間|日間|週間"
    r"|年|周|週|天|人|名|次|回|台|公里|岁|歳|パーセント)"
)
_VALUE: Final = re.compile(
    rf"{_NUMBER}\s+{_UNIT}|{_NUMBER}-?{_UNIT}"
    rf"|(?<!\d)\d{{1,2}}(?::\d{{2}})?\s?[AaPp]\.?[Mm](?![A-Za-z])|(?<!\d)\d{{1,2}}:\d{{2}}(?!\d)"
    r"|[$€£¥₩₹]\s?\d[\d,]*(?:\.\d+)?[kKmM]?"
    rf"|(?<![A-Za-z]){_CURRENCY}\s?\d[\d,]*(?:\.\d+)?|{_NUMBER}\s?{_CURRENCY}(?![A-Za-z])"
    rf"|{_NUMBER}\s?%|(?<![\d.,]){_CJK_COUNT}{_CJK_UNIT}"
    r"|(?<![A-Za-z0-9.])v?\d+(?:\.\d+)+(?![A-Za-z0-9])"
    r"|(?<![\d.,A-Za-z])\d{1,3}(?:,\d{3})+(?![\d,])|(?<![\d.,A-Za-z])\d{4,}(?!\d)",
)
_RUN: Final = re.compile(rf"[^\W_{CJK}]+")
_DECISION: Final = re.compile("|".join(sorted(DECISION_CJK, key=len, reverse=True)))
_PEOPLE: Final = {"people": "person", "persons": "person", "children": "kid"}


class AnchorKind(Enum):
    """How an anchor is looked up in another text."""

    DATE = auto()
    VALUE = auto()
    DECISION = auto()
    NAME = auto()


@dataclass(frozen=True, slots=True)
class Anchor:
    """One anchor: `text` as people would name it, folded; dates in one form, year-month-day as far as known."""

    kind: AnchorKind
    text: str

    @property
    def is_specific(self) -> bool:
        """Tell whether it points at one thing; a word of decision stands in many facts."""
        return self.kind is not AnchorKind.DECISION


def find_anchors(text: str) -> frozenset[Anchor]:
    """Return the anchors of a text, each once."""
    found: set[Anchor] = set()

    def date(match: re.Match[str]) -> str:
        found.add(Anchor(AnchorKind.DATE, _date_of(match)))
        return " "

    def value(match: re.Match[str]) -> str:
        found.add(Anchor(AnchorKind.VALUE, match.group().casefold().rstrip(",")))
        return " "

    rest = _VALUE.sub(value, _DATE.sub(date, unicodedata.normalize("NFKC", text)))
    found.update(Anchor(AnchorKind.DECISION, word) for word in _DECISION.findall(rest))
    found.update(_word_anchors(_RUN.findall(rest)))
    return frozenset(found)


def _word_anchors(runs: Iterable[str]) -> Iterable[Anchor]:
    for run in runs:
        word = run.casefold()
        if word in DECISION_WORDS:
            yield Anchor(AnchorKind.DECISION, word)
        elif len(run) > 1 and run[0].isupper() and word not in NO_NAMES:
            yield Anchor(AnchorKind.NAME, word)


def _date_of(match: re.Match[str]) -> str:
    found = match.groupdict()
    for form in "123456":
        month = found[f"m{form}"]
        if month is None:
            continue
        day, year = found.get(f"d{form}"), found[f"y{form}"]
        return _joined_date(year, _month_number(month), day, slashed=form == "2" and found["sep2"] == "/")
    return match.group()


def _month_number(month: str) -> int:
    return int(month) if month.isdecimal() else _MONTHS[month.rstrip(".").casefold()]


def _joined_date(year: str | None, month: int, day: str | None, *, slashed: bool) -> str:
    number = int(day) if day else 0
    if slashed:
        # 03/04/2031 is the third of April or the fourth of March: both readings sort the same way.
        month, number = (
            sorted((month, number)) if max(month, number) <= 12 else (min(month, number), max(month, number))
        )
    parts = [f"{year}" if year else "", f"{month:02}", f"{number:02}" if number else ""]
    return "-".join(part for part in parts if part)


def comparable_value(text: str) -> str:
    """Return the text of a VALUE anchor without what varies in writing: white space, commas, plural endings."""
    match = re.fullmatch(r"([\d,.]+)[\s-]*([a-z]+)", text)
    if match is None:
        return re.sub(r"[\s,]", "", text)
    number, unit = match.groups()
    unit = _PEOPLE.get(unit, unit if unit in ("yen", "yuan") else unit.removesuffix("s"))
    return f"{number.replace(',', '')} {unit}"
