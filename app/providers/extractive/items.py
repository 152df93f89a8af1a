"""Bullets of a section: reading those that stand there, writing new ones."""

import re
from collections.abc import Iterable
from typing import Final

from app.domain.tokens import TokenCounter
from app.domain.working_memory.items import bullet, read_items
from app.domain.working_memory.operations import KEEP, Append, SectionOp, Update

MOST_BULLETS: Final = 25
MOST_TOKENS: Final = 1_400
HEADED: Final = re.compile(r"^(?P<day>\d{4}-\d{2}-\d{2}) (?P<who>[^:：/]{1,40})[:：]\s?(?P<text>.+)$", re.DOTALL)


def items_of(body: str) -> list[str]:
    """Return the items of a section without their marks; a line that only says there is nothing is no item."""
    return [item.text for item in read_items(body)]


def bulleted(items: Iterable[str]) -> str:
    return "\n".join(bullet(item) for item in items)


def added(old: str, fresh: list[str]) -> SectionOp:
    """Return the operation that adds items: the whole body where there was none, else only what is new."""
    if not fresh:
        return KEEP
    return Append(tuple(fresh)) if items_of(old) else Update(bulleted(fresh))


def logged(old: str, fresh: list[str]) -> SectionOp:
    """Return the operation that adds items to a log: never a rewrite once something stands there."""
    return added(old, fresh) if not old.strip() or not fresh else Append(tuple(fresh))


def has_room(old: str, fresh: list[str], count: TokenCounter) -> bool:
    """Tell whether a section stays small enough to need no consolidation once the items are added."""
    return len(items_of(old)) + len(fresh) <= MOST_BULLETS and count(old) + count(bulleted(fresh)) <= MOST_TOKENS
