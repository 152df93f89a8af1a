"""What PostgreSQL really did for a call: the plans of all its statements, those inside functions and keys included."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

READS = {"Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Heap Scan", "Bitmap Index Scan", "Tid Scan"}
REPORTING = {
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_format": "json",
    "client_min_messages": "log",
}


@dataclass(frozen=True)
class Read:
    """One scan of one relation: how, by which index, under which conditions.

    rows are those that it gave out in all loops, removed those that it read and threw away.
    """

    statement: str
    node: str
    relation: str
    index: str
    condition: str
    rows: float
    removed: float


@contextmanager
def reporting_plans(superuser: psycopg.Connection, login: str, **settings: str) -> Iterator[None]:
    """Have every new session of a login report what it executes to its client, until the block ends."""
    role = sql.Identifier(login)
    (name,) = superuser.execute("SELECT current_database()").fetchone()
    place = sql.SQL("ALTER ROLE {} IN DATABASE {} ").format(role, sql.Identifier(name))
    try:
        for key, value in {**REPORTING, **settings}.items():
            superuser.execute(place + sql.SQL("SET {} = {}").format(sql.SQL(key), sql.Literal(value)))
        yield
    finally:
        superuser.execute(place + sql.SQL("RESET ALL"))


class Plans:
    """Collects what a connection reports."""

    def __init__(self) -> None:
        self._plans: list[dict[str, Any]] = []

    @asynccontextmanager
    async def of(self, connection: psycopg.AsyncConnection) -> AsyncIterator[None]:
        """Listen to a connection for as long as the block is open."""
        connection.add_notice_handler(self._notice)
        try:
            yield
            await connection.execute("SELECT 1")  # inside a transaction a statement reports when the next one begins
        finally:
            connection.remove_notice_handler(self._notice)

    @property
    def reads(self) -> list[Read]:
        """Return every scan of a table so far."""
        return [read for plan in self._plans for read in _scans(plan["Plan"], " ".join(plan["Query Text"].split()))]

    def _notice(self, notice: psycopg.errors.Diagnostic) -> None:
        text = notice.message_primary or ""
        if "plan:" in text:
            self._plans.append(json.loads(text[text.index("{") :]))


def _scans(node: dict[str, Any], statement: str, relation: str = "") -> Iterator[Read]:
    name = node.get("Relation Name", relation)
    loops = node.get("Actual Loops", 1)
    if node["Node Type"] in READS and loops:
        removed = sum(node.get(f"Rows Removed by {how}", 0) for how in ("Filter", "Index Recheck"))
        yield Read(
            statement=statement,
            node=node["Node Type"],
            relation=name,
            index=node.get("Index Name", ""),
            condition=node.get("Index Cond", ""),
            rows=node.get("Actual Rows", 0) * loops,
            removed=removed * loops,
        )
    for child in node.get("Plans", ()):
        yield from _scans(child, statement, name)
