"""The reads behind a context: from the newest message back, and no further than the budget reaches."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from app.domain.context.coverage import Uncovered
from app.domain.context.fitting import Conversation
from app.domain.context.overview import room_beside_any_overview
from app.domain.context.turns import ToolPair, without_torn_pairs
from app.domain.messages import StoredMessage, transports_results
from app.domain.scope import Scope
from app.domain.sessions import Session
from app.storage import tables as t
from app.storage.messages import stored_message
from app.storage.transaction import Transaction

SMALLEST_PAGE: Final = 32
LARGEST_PAGE: Final = 1_000


@dataclass(frozen=True, slots=True)
class ArchiveCounts:
    """How many archives of a session have failed, and how many are still worked on."""

    failed: int
    unfinished: int


async def conversation(
    tx: Transaction, scope: Scope, session: Session, uncovered: Uncovered, *, budget: int
) -> Conversation:
    """Return the newest messages that are not covered, enough of them for a budget of tokens."""
    newest = await _newest(tx, scope, session, uncovered, budget)
    complete = len(newest) == uncovered.total
    if complete and sum(message.tokens for message in newest) <= room_beside_any_overview(budget):
        return Conversation(newest, uncovered.total)
    first = newest[0].seq if newest else session.last_seq + 1
    pairs = await _tool_pairs(tx, scope, session.id, uncovered, first)
    older = {seq for pair in pairs for seq in pair if seq < first}
    question = None if complete else await _question_before(tx, scope, session.id, uncovered, first)
    wanted = (older | {question} if question else older) - {message.seq for message in newest}
    missing = await _by_seq(tx, scope, session.id, wanted) if wanted else []
    return Conversation(_in_order([*missing, *newest]), uncovered.total, pairs)


async def newest_messages(
    tx: Transaction, scope: Scope, session: Session, uncovered: Uncovered, *, most: int
) -> list[StoredMessage]:
    """Return the newest messages that are not covered, at most `most`; no result without its call."""
    found: list[StoredMessage] = []
    for run in reversed(uncovered.runs):
        found = [*await _page(tx, scope, session.id, run, most - len(found)), *found]
        if len(found) == most:
            break
    if not found:
        return []
    return without_torn_pairs(found, await _tool_pairs(tx, scope, session.id, uncovered, found[0].seq))


async def archive_counts(tx: Transaction, scope: Scope, session_id: int) -> ArchiveCounts:
    """Return what a context says about the archives of its session."""
    a = t.archives.c
    query = sa.select(
        sa.func.count().filter(a.status == "failed"), sa.func.count().filter(a.status.in_(("pending", "running")))
    ).where(a.account_id == scope.account_id, a.session_id == session_id)
    failed, unfinished = (await tx.execute(query)).one()
    return ArchiveCounts(failed, unfinished)


async def _newest(
    tx: Transaction, scope: Scope, session: Session, uncovered: Uncovered, budget: int
) -> list[StoredMessage]:
    """Return messages from the newest back until they take more than the budget, in order.

    The first of them is no mere result, so that the step it begins is there in full.
    """
    found: list[StoredMessage] = []
    tokens, page = 0, _first_page(session, budget)
    for run in reversed(uncovered.runs):
        while run:
            read = await _page(tx, scope, session.id, run, page)
            found = [*read, *found]
            tokens += sum(message.tokens for message in read)
            run = range(run.start, read[0].seq) if read else range(0)
            if tokens > budget and not transports_results(found[0]):
                return found
            page = min(page * 2, LARGEST_PAGE)
    anchor = uncovered.anchor_seq
    return [*await _by_seq(tx, scope, session.id, {anchor}), *found] if anchor is not None else found


def _first_page(session: Session, budget: int) -> int:
    """Return about how many messages of this session fit the budget."""
    average = max(session.last_tokens // max(session.last_seq, 1), 1)
    return max(SMALLEST_PAGE, min(budget // average * 5 // 4, LARGEST_PAGE))


_PAIRS_OF: Final = sa.text("""
    SELECT c.call_seq, c.result_seq FROM unnest(CAST(:seqs AS bigint[])) q (seq) CROSS JOIN LATERAL (
      SELECT a.call_seq, a.result_seq FROM cairn.tool_calls a
       WHERE a.account_id = :account AND a.session_id = :session AND a.call_seq = q.seq AND a.result_seq IS NOT NULL
      UNION ALL
      SELECT b.call_seq, b.result_seq FROM cairn.tool_calls b
       WHERE b.account_id = :account AND b.session_id = :session AND b.result_seq = q.seq) c
""")
"""One probe of an index per message: a plan for any number of them at once would read the whole session."""

_COLUMNS: Final = (
    t.messages.c.seq,
    t.messages.c.message_id,
    t.messages.c.role,
    t.messages.c.peer_id,
    t.messages.c.origin,
    t.messages.c.parts,
    t.messages.c.attributes,
    t.messages.c.tokens,
    t.messages.c.said_at,
)


def _of(scope: Scope, session_id: int) -> sa.ColumnElement[bool]:
    return sa.and_(t.messages.c.account_id == scope.account_id, t.messages.c.session_id == session_id)


async def _page(tx: Transaction, scope: Scope, session_id: int, run: range, most: int) -> list[StoredMessage]:
    """Return the newest messages of a run, at most `most`, in order."""
    query = (
        sa.select(*_COLUMNS)
        .where(_of(scope, session_id), t.messages.c.seq >= run.start, t.messages.c.seq < run.stop)
        .order_by(t.messages.c.seq.desc())
        .limit(most)
    )
    return _in_order(map(stored_message, (await tx.execute(query)).mappings()))


async def _by_seq(tx: Transaction, scope: Scope, session_id: int, seqs: Collection[int]) -> list[StoredMessage]:
    query = sa.select(*_COLUMNS).where(_of(scope, session_id), t.messages.c.seq == sa.any_(sa.literal(sorted(seqs))))
    return _in_order(map(stored_message, (await tx.execute(query)).mappings()))


def _in_order(messages: Iterable[StoredMessage]) -> list[StoredMessage]:
    return sorted(messages, key=lambda message: message.seq)


async def _question_before(
    tx: Transaction, scope: Scope, session_id: int, uncovered: Uncovered, first: int
) -> int | None:
    """Return the seq of the question whose turn goes on at message `first`, where it is shown."""
    m = t.messages.c
    query = (
        sa.select(m.seq)
        .where(_of(scope, session_id), m.seq <= first, m.opens == "turn")
        .order_by(m.seq.desc())
        .limit(1)
    )
    seq = (await tx.execute(query)).scalar_one_or_none()
    return seq if seq is not None and seq in uncovered else None


async def _tool_pairs(
    tx: Transaction, scope: Scope, session_id: int, uncovered: Uncovered, first: int
) -> Sequence[ToolPair]:
    """Return the pairs of calls and results from message `first` on, and those that these hang together with."""
    c = t.tool_calls.c
    query = sa.select(c.call_seq, c.result_seq).where(
        c.account_id == scope.account_id, c.session_id == session_id, c.result_seq >= first
    )
    pairs = {(row.call_seq, row.result_seq) for row in await tx.execute(query)}
    looked_at: set[int] = set()
    while older := {seq for pair in pairs for seq in pair if seq < first and seq in uncovered} - looked_at:
        looked_at |= older
        arguments = {"account": scope.account_id, "session": session_id, "seqs": sorted(older)}
        pairs.update((row.call_seq, row.result_seq) for row in await tx.execute(_PAIRS_OF, arguments))
    return [pair for pair in sorted(pairs) if pair[0] in uncovered and pair[1] in uncovered]
