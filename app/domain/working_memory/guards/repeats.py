"""Nothing is appended that the section already has."""

from app.domain.working_memory.coverage import unknown_items
from app.domain.working_memory.guards.verdict import Guard, Reason, Verdict
from app.domain.working_memory.items import Item, item_of, read_items
from app.domain.working_memory.operations import KEEP, Append


def guard_repeats(op: Append, old: str) -> Verdict:
    """Take out items whose normalised text equals that of an old item or of an earlier one."""
    items, guard, reason = fresh_items(op, read_items(old))
    if reason is Reason.NONE:
        return Verdict(op)
    return Verdict(Append(tuple(item.text for item in items)) if items else KEEP, guard, reason)


def offered_items(op: Append) -> list[Item]:
    """Return the items of an APPEND as they will be read from the document."""
    return [item for text in op.items if (item := item_of(text)) is not None]


def fresh_items(op: Append, known: list[Item]) -> tuple[list[Item], Guard, Reason]:
    """Return the items that are new, and the guard and reason when some are not."""
    offered = offered_items(op)
    fresh = unknown_items(offered, known)
    if len(fresh) == len(offered) and fresh:
        return fresh, Guard.NONE, Reason.NONE
    if not offered:
        return [], Guard.NOT_EMPTY, Reason.NO_TEXT
    return fresh, Guard.NO_REPEATS, Reason.SOME_KNOWN if fresh else Reason.ALL_KNOWN
