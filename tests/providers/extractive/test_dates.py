"""Days that were pointed at are written out, seen from the day it was said."""

import pytest

from app.providers.extractive.dates import with_dates

WEDNESDAY = "2031-04-09"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I went yesterday.", "I went yesterday (2031-04-08)."),
        ("Last night it rained", "Last night (2031-04-08) it rained"),
        ("the day before yesterday", "the day before yesterday (2031-04-07)"),
        ("We launch tomorrow", "We launch tomorrow (2031-04-10)"),
        ("last week we won", "last week (2031-03-31–2031-04-06) we won"),
        ("next week we play", "next week (2031-04-14–2031-04-20) we play"),
        ("last month", "last month (2031-03)"),
        ("next year", "next year (2032)"),
        ("last Friday", "last Friday (2031-04-04)"),
        ("last Wednesday", "last Wednesday (2031-04-02)"),
        ("next Monday", "next Monday (2031-04-14)"),
        ("two days ago", "two days ago (2031-04-07)"),
        ("3 weeks ago", "3 weeks ago (2031-03-17–2031-03-23)"),
        ("four months ago", "four months ago (2030-12)"),
        ("ten years ago", "ten years ago (2021)"),
        ("昨天下雨", "昨天（2031-04-08）下雨"),
        ("上周我们赢了", "上周（2031-03-31–2031-04-06）我们赢了"),
        ("三天前", "三天前（2031-04-06）"),
        ("两年以前", "两年以前（2029）"),
        ("昨日、会議をした", "昨日（2031-04-08）、会議をした"),
        ("来週から", "来週（2031-04-14–2031-04-20）から"),
    ],
)
def test_a_pointed_at_time_is_followed_by_its_date(text: str, expected: str) -> None:
    assert with_dates(text, WEDNESDAY) == expected


@pytest.mark.parametrize("text", ["at last", "the latest weekend", "yesterday's news", "We met on 2031-04-01", ""])
def test_other_words_stay_as_they_are(text: str) -> None:
    assert with_dates(text, WEDNESDAY) == text


@pytest.mark.parametrize("day", ["", "not a day", "2031-13-40"])
def test_on_an_unknown_day_nothing_is_written_out(day: str) -> None:
    assert with_dates("I went yesterday.", day) == "I went yesterday."


@pytest.mark.parametrize(("text", "day"), [("999 years ago", "0500-01-01"), ("tomorrow", "9999-12-31")])
def test_a_date_outside_the_calendar_is_not_written_out(text: str, day: str) -> None:
    assert with_dates(text, day) == text
