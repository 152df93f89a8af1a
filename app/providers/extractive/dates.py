"""Days that were only pointed at ("yesterday", "上周"), written out, so that a fact stays true when read next month."""

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Final

_ENGLISH_NUMBERS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS: Final = {
    **{word: value for value, word in enumerate(_ENGLISH_NUMBERS, start=1)},
    **{word: value for value, word in enumerate("一二三四五六七八九十", start=1)},
    "a": 1,
    "an": 1,
    "两": 2,
}
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_DAYS: Final = {
    "day before yesterday": -2, "yesterday": -1, "last night": -1, "day after tomorrow": 2, "tomorrow": 1,
    "前天": -2, "昨天": -1, "昨晚": -1, "明天": 1, "后天": 2,
    "一昨日": -2, "昨日": -1, "昨夜": -1, "明日": 1, "明後日": 2,
}  # fmt: skip
_WEEKS: Final = {
    "last week": -1, "next week": 1, "上周": -1, "上星期": -1, "下周": 1, "下星期": 1, "先週": -1, "来週": 1,
}  # fmt: skip
_MONTHS: Final = {"last month": -1, "next month": 1, "上个月": -1, "下个月": 1, "先月": -1, "来月": 1}
_YEARS: Final = {"last year": -1, "next year": 1, "去年": -1, "明年": 1, "来年": 1}

_WORDS: Final = {**_DAYS, **_WEEKS, **_MONTHS, **_YEARS}
_POINTED: Final = re.compile(
    r"(?<![A-Za-z])(?:"
    + "|".join(re.escape(word) for word in sorted(_WORDS, key=len, reverse=True))
    + r"|(?P<which>last|next|this past) (?P<weekday>"
    + "|".join(_WEEKDAYS)
    + r")|(?P<count>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten) (?P<unit>day|week|month|year)s? ago"
    + r"|(?P<cjk_count>\d{1,3}|[一二两三四五六七八九十])\s?(?P<cjk_unit>天|周|个月|年|日|週間|か月|ヶ月)(?:以)?前"
    + r")(?![A-Za-z]|['’]s)",
    re.IGNORECASE,
)
_UNITS: Final = {
    "天": "day",
    "日": "day",
    "周": "week",
    "週間": "week",
    "个月": "month",
    "か月": "month",
    "ヶ月": "month",
    "年": "year",
}


def with_dates(text: str, day: str) -> str:
    """Return the text with each pointed-at time followed by the date it means, seen from the day it was said.

    A text without such words, or said on an unknown day, comes back as it is.
    """
    try:
        said_on = date.fromisoformat(day)
    except ValueError:
        return text

    def written_out(found: re.Match[str]) -> str:
        meant = _meant(found, said_on)
        if not meant:
            return found.group()
        return f"{found.group()} ({meant})" if found.group().isascii() else f"{found.group()}（{meant}）"

    return _POINTED.sub(written_out, text)


def _meant(found: re.Match[str], said_on: date) -> str:
    word = found.group().lower()
    try:
        if found["weekday"]:
            return _weekday(found["which"].lower(), found["weekday"].lower(), said_on)
        if found["unit"] or found["cjk_unit"]:
            count = (found["count"] or found["cjk_count"]).lower()
            amount = int(count) if count.isdigit() else _NUMBERS[count]
            unit = (found["unit"] or _UNITS[found["cjk_unit"]]).lower()
            return _BY_UNIT[unit](said_on, -amount)
        for words, unit in ((_DAYS, "day"), (_WEEKS, "week"), (_MONTHS, "month"), (_YEARS, "year")):
            if word in words:
                return _BY_UNIT[unit](said_on, words[word])
    except (OverflowError, ValueError):
        # Before the year 1 or after 9999: there is no such date to write.
        return ""
    return ""


def _weekday(which: str, name: str, said_on: date) -> str:
    ahead = (_WEEKDAYS.index(name) - said_on.weekday()) % 7 or 7
    return (said_on + timedelta(days=ahead if which == "next" else ahead - 7 if ahead < 7 else -7)).isoformat()


def _day(said_on: date, amount: int) -> str:
    return (said_on + timedelta(days=amount)).isoformat()


def _week(said_on: date, amount: int) -> str:
    monday = said_on - timedelta(days=said_on.weekday()) + timedelta(weeks=amount)
    return f"{monday.isoformat()}–{(monday + timedelta(days=6)).isoformat()}"


def _month(said_on: date, amount: int) -> str:
    months = said_on.year * 12 + said_on.month - 1 + amount
    return f"{date(months // 12, months % 12 + 1, 1):%Y-%m}"


def _year(said_on: date, amount: int) -> str:
    return f"{date(said_on.year + amount, 1, 1):%Y}"


_BY_UNIT: Final[dict[str, Callable[[date, int], str]]] = {"day": _day, "week": _week, "month": _month, "year": _year}
