"""Errors and corrections only ever grow."""

from app.domain.working_memory.coverage import unknown_items
from app.domain.working_memory.guards.repeats import guard_repeats
from app.domain.working_memory.guards.verdict import Guard, Reason, Verdict, append_or_keep
from app.domain.working_memory.items import read_items
from app.domain.working_memory.operations import Append, Update


def guard_errors(op: Update | Append, old: str) -> Verdict:
    """Reduce a rewrite to the items that are new."""
    if isinstance(op, Append):
        return guard_repeats(op, old)
    fresh = unknown_items(read_items(op.content), read_items(old))
    return append_or_keep(tuple(item.text for item in fresh), Verdict(op, Guard.APPEND_ONLY, Reason.ONLY_ADDITIONS))
