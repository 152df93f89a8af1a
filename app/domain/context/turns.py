"""In which order messages are taken into a context.

The order is fixed and does not depend on the budget: a larger budget takes a longer beginning of the same sequence, so
it never shows less. The newest turn comes first; of every turn first the question together with the last step, then
what was kept as a checkpoint, then the other steps from the newest back.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from app.domain.messages import StoredMessage, is_user_turn, transports_results

ToolPair: TypeAlias = tuple[int, int]
"""The seqs of a tool call and of its result."""

Group: TypeAlias = tuple[StoredMessage, ...]
"""Messages that are taken together or not at all, in order."""

_CHECKPOINT: Final = "checkpoint"


def order_of_taking(messages: Sequence[StoredMessage], pairs: Iterable[ToolPair]) -> Iterator[tuple[Group, Group]]:
    """Yield every message once, as (question, step); either may be empty, both are taken together.

    messages: in order. pairs: of tool calls and results; one that names a message that is not here is ignored.
    """
    groups = _groups(messages, pairs)
    taken: set[int] = set()
    for turn in reversed(_turns(messages)):
        newest_first = list(_untaken(turn, groups, taken))
        question = _question(turn, newest_first)
        steps = [group for group in newest_first if group is not question]
        yield question, (steps[0] if steps else ())
        yield from (((), step) for step in steps[1:] if _holds_checkpoint(step))
        yield from (((), step) for step in steps[1:] if not _holds_checkpoint(step))


def without_torn_pairs(messages: Sequence[StoredMessage], pairs: Iterable[ToolPair]) -> list[StoredMessage]:
    """Return the messages without calls whose result is not here and results whose call is not."""
    here = {message.seq for message in messages}
    known = list(pairs)
    while torn := {seq for pair in known for seq in pair if len(here.intersection(pair)) == 1} & here:
        here -= torn
    return [message for message in messages if message.seq in here]


def _turns(messages: Sequence[StoredMessage]) -> list[list[StoredMessage]]:
    """Return the turns, the oldest first; what was said before anybody asked is one without a question."""
    turns: list[list[StoredMessage]] = []
    for message in messages:
        if not turns or is_user_turn(message):
            turns.append([])
        turns[-1].append(message)
    return turns


def _question(turn: Sequence[StoredMessage], groups: Sequence[Group]) -> Group:
    """Return the group that holds the question of a turn; empty where there is none, or where it is taken already."""
    if not is_user_turn(turn[0]):
        return ()
    return next((group for group in groups if turn[0] in group), ())


def _untaken(turn: Sequence[StoredMessage], groups: Mapping[int, Group], taken: set[int]) -> Iterator[Group]:
    for message in reversed(turn):
        if message.seq not in taken:
            group = groups[message.seq]
            taken.update(member.seq for member in group)
            yield group


def _holds_checkpoint(group: Group) -> bool:
    return any(message.attributes.get("message_kind") == _CHECKPOINT for message in group)


def _groups(messages: Sequence[StoredMessage], pairs: Iterable[ToolPair]) -> Mapping[int, Group]:
    """Return the group of each seq: calls and results that belong together, however far apart they stand.

    A result that nothing names belongs to the message right before it.
    """
    leaders = {message.seq: message.seq for message in messages}

    def leader(seq: int) -> int:
        while leaders[seq] != seq:
            leaders[seq] = seq = leaders[leaders[seq]]
        return seq

    paired: set[int] = set()
    for call, result in pairs:
        if call in leaders and result in leaders:
            leaders[leader(result)] = leader(call)
            paired |= {call, result}
    for before, message in pairwise(messages):
        if transports_results(message) and message.seq not in paired and message.seq == before.seq + 1:
            leaders[leader(message.seq)] = leader(before.seq)
    members: dict[int, list[StoredMessage]] = {}
    for message in messages:
        members.setdefault(leader(message.seq), []).append(message)
    return {message.seq: group for group in map(tuple, members.values()) for message in group}
