"""An overview that came with an import and has none of the seven sections stands until an update carries it over."""

from collections.abc import Sequence
from datetime import UTC, datetime

import psycopg
import pytest

from app.bootstrap import Services
from app.domain.archives import StepOutcome
from app.domain.errors import PreconditionFailed
from app.domain.excerpts import first_lines
from app.domain.freshness import Freshness
from app.domain.retention import Retention
from app.domain.scope import Scope
from app.domain.transfer import End, Head, MovedArchive, MovedMessage, Record
from app.domain.working_memory.schema import CREATE_TOOL, UPDATE_TOOL
from tests.support.conversations import said
from tests.support.fake_model import FakeModel
from tests.support.house import commit, ended, house, somebody, working

OVERVIEW = "# Harbour\n\nWe move the tide tables.\n\n- Ana Pereira decided on PostgreSQL 18\n- the pump costs €1,250"
AT = datetime(2026, 1, 2, tzinfo=UTC)


def session() -> list[Sequence[Record]]:
    """One archive with the overview, and one live message."""
    head = Head("talk", AT, AT, AT, Retention(), None, None, None, None, 3, 1)
    messages = [MovedMessage(seq, said(f"message {seq}")) for seq in (1, 2, 3)]
    archive = MovedArchive(1, 1, 2, StepOutcome.APPLIED, StepOutcome.OFF, "Harbour", AT, None, AT,
                           document_source="import", legacy_overview=OVERVIEW)  # fmt: skip
    return [[head, *messages, archive, End(3, 1)]]


async def bring_in(services: Services, scope: Scope) -> None:
    await services.transfers.bring_in(scope, "talk", iter(session()))


async def test_it_is_served_as_the_overview_everywhere(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    await bring_in(services, scope)
    context = await services.context.assemble(scope, "talk", 10_000)
    assert context.fitted.overview == OVERVIEW
    assert [message.seq for message in context.fitted.messages] == [3]
    assert (context.is_placeholder, context.freshness, context.document_archive_no) == (False, Freshness.CURRENT, 1)
    assert (await services.archives.get(scope, "talk", "archive_001")).overview == OVERVIEW
    current = (await services.working_memory.current(scope, "talk")).document
    assert current is not None
    assert current.text == OVERVIEW
    assert superuser.execute("SELECT * FROM cairn.check_sessions").fetchall() == []
    with pytest.raises(PreconditionFailed):
        await services.corrections.correct(scope, "talk", "Open Issues", "- ask Anna")


async def test_the_next_update_writes_a_document_anew_from_it(
    services: Services, scope: Scope, model: FakeModel, superuser: psycopg.Connection
) -> None:
    await bring_in(services, scope)
    async with working(services):
        task = await ended(services, scope, await commit(services, scope, "talk", "bring the map"))
        await ended(services, scope, await commit(services, scope, "talk", "and a tent"))
    created, updated = model.requests
    assert (created.tool.name, updated.tool.name) == (CREATE_TOOL, UPDATE_TOOL)
    assert "Ana Pereira decided on PostgreSQL 18" in created.prompt.user
    assert "message 1" not in created.prompt.user
    assert (task.archive.outcome, task.archive.covers_from_seq) == ("applied", 3)
    assert superuser.execute("SELECT * FROM cairn.check_sessions").fetchall() == []


async def test_rules_without_a_model_carry_it_over_too(database_url: str) -> None:
    async with house(database_url) as services:
        scope = await somebody(services)
        await bring_in(services, scope)
        async with working(services):
            await ended(services, scope, await commit(services, scope, "talk", "Please book a room for 12 people."))
        overview = (await services.context.assemble(scope, "talk", 10_000)).fitted.overview
    assert overview.startswith("# Working Memory")
    assert "Ana Pereira decided on PostgreSQL 18" in overview
    assert "the pump costs €1,250" in overview


def test_one_that_is_too_long_for_the_window_is_shown_from_its_beginning() -> None:
    assert first_lines("a b\nc d\ne f", room=4, count_tokens=lambda text: len(text.split())) == "a b\nc d"
    assert first_lines("a b", room=2, count_tokens=lambda text: len(text.split())) == "a b"
