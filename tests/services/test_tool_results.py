"""Large texts of tools are stored with their message, once, and read back by range."""

import hashlib

import psycopg
import pytest

from app.bootstrap import Services
from app.domain.errors import Conflict, InvalidInput, NotFound
from app.domain.messages import MessageRole, NewMessage, countable_text
from app.domain.scope import Scope
from tests.support.conversations import said
from tests.support.house import somebody

TALK = "talk"
LONG = "".join(f"row {n} 潮汐 🙂\n" for n in range(4_000))


def ran(text: object, tool_id: str = "t1", *, client_id: str | None = None, name: str = "grep") -> NewMessage:
    part = {"type": "tool", "tool_id": tool_id, "tool_name": name, "tool_status": "completed", "tool_output": text}
    return NewMessage(MessageRole.USER, (part,), client_message_id=client_id)


async def store(services: Services, scope: Scope, *messages: NewMessage) -> None:
    await services.messages.append(scope, TALK, messages)


async def ids(services: Services, scope: Scope, **asked: object) -> list[str]:
    return [one.tool_result_id for one in await services.tool_results.list_newest(scope, TALK, limit=50, **asked)]


async def test_what_is_counted_is_what_the_message_shows(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    await store(services, scope, ran(LONG))
    (message,) = (await services.context.assemble(scope, TALK, 10_000)).fitted.messages
    assert message.tokens == services.count_tokens(countable_text(message.parts)) < 2_000
    assert message.parts[0]["tool_output_ref"].startswith(f"viking://session/{TALK}/tool-results/tr_t1_")
    assert superuser.execute("SELECT pending_tokens FROM cairn.sessions").fetchone() == (message.tokens,)


@pytest.mark.parametrize(
    ("offset", "limit", "has_more"),
    [
        (0, 10, True),
        (7, 100, True),
        (0, -1, False),
        (100, -1, False),
        (0, 0, True),
        (10**12, 5, False),
        (0, 10**9, False),
    ],
)
async def test_a_text_is_read_by_characters(
    services: Services, scope: Scope, offset: int, limit: int, has_more: bool
) -> None:
    await store(services, scope, ran(LONG))
    (identifier,) = await ids(services, scope)
    read = await services.tool_results.read(scope, TALK, identifier, offset=offset, limit=limit)
    assert read.content == LONG[offset:][: None if limit == -1 else limit]
    assert (read.has_more, read.result.chars) == (has_more, len(LONG))


async def test_a_text_is_searched_in_full(services: Services, scope: Scope) -> None:
    await store(services, scope, ran(LONG))
    (identifier,) = await ids(services, scope)
    search = services.tool_results.search
    (match,) = await search(scope, TALK, identifier, "row 3999 潮", limit=20, context_chars=3)
    assert LONG[match.offset :].startswith("row 3999 潮")
    assert match.snippet == " 🙂\nrow 3999 潮汐 🙂"
    assert len(await search(scope, TALK, identifier, "潮", limit=20, context_chars=0)) == 20
    assert await search(scope, TALK, identifier, "ROW", limit=20, context_chars=0) == []


async def test_one_text_is_stored_once_in_a_session(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    await store(services, scope, ran(LONG, "a"), ran(LONG, "b"), ran(LONG, "a"))
    await store(services, scope, ran(LONG, "c"))
    await services.messages.append(scope, "elsewhere", [ran(LONG, "a")])
    rows = superuser.execute("SELECT session_id, seq, content = %s AS same FROM cairn.tool_results", [LONG]).fetchall()
    assert [(row.seq, row.same) for row in rows] == [(1, True)] * 2
    assert len({row.session_id for row in rows}) == 2
    shown = (await services.context.assemble(scope, TALK, 100_000)).fitted.messages
    assert len({message.parts[0]["tool_output_ref"] for message in shown}) == 1


async def test_a_repeat_stores_nothing_and_another_text_under_its_id_is_refused(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    await store(services, scope, ran(LONG, client_id="c1"))
    await store(services, scope, ran(LONG, client_id="c1"), ran("x" * 30_000, "t2", client_id="c2"))
    with pytest.raises(Conflict):
        # the same beginning and end, so that the previews could be taken for one another
        await store(services, scope, ran(LONG[:20_000] + "!" + LONG[20_001:], client_id="c1"))
    with pytest.raises(Conflict):
        await store(services, scope, ran("y" * 30_000, "t3"), ran("z" * 30_000, client_id="c1"))
    kept = superuser.execute("SELECT seq, chars FROM cairn.tool_results ORDER BY seq").fetchall()
    assert [tuple(row) for row in kept] == [(1, len(LONG)), (2, 30_000)]


async def test_a_batch_keeps_each_text_with_its_message(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    call = {"type": "tool", "tool_id": "w", "tool_name": "write", "tool_input": {"path": "a", "content": LONG}}
    await store(
        services, scope, said("hi"), ran("a" * 30_000, "one", name="read"), NewMessage(MessageRole.ASSISTANT, (call,))
    )
    rows = superuser.execute(
        "SELECT seq, tool_id, tool_name, direction, chars, content_sha256, sha256(convert_to(content, 'UTF8')) AS real,"
        " kind, preview_chars FROM cairn.tool_results ORDER BY seq"
    ).fetchall()
    assert [row[:4] for row in rows] == [(2, "one", "read", "output"), (3, "w", "write", "input")]
    assert all(row.content_sha256 == row.real for row in rows)
    assert all(row.preview_chars <= 2_000 for row in rows)
    assert bytes(rows[0].real) == hashlib.sha256(b"a" * 30_000).digest()


async def test_results_are_listed_with_the_newest_first(services: Services, scope: Scope) -> None:
    await store(services, scope, ran("a" * 30_000, "one", name="read"), ran("b" * 30_000, "two", name="grep"))
    newest_first = await ids(services, scope)
    assert [name.rsplit("_", 1)[0] for name in newest_first] == ["tr_two", "tr_one"]
    assert await ids(services, scope, tool_name="read") == newest_first[1:]
    assert await ids(services, scope, tool_name="none") == []


async def test_what_belongs_to_others_or_to_nobody_is_not_found(services: Services, scope: Scope) -> None:
    await store(services, scope, ran(LONG))
    (identifier,) = await ids(services, scope)
    other = await somebody(services, user="ben")
    await services.messages.append(other, TALK, [said("mine")])
    for who, session, wanted in ((other, TALK, identifier), (scope, TALK, "tr_x"), (scope, "none", identifier)):
        with pytest.raises(NotFound):
            await services.tool_results.read(who, session, wanted, offset=0, limit=1)
        with pytest.raises(NotFound):
            await services.tool_results.search(who, session, wanted, "x", limit=1, context_chars=0)
    assert await ids(services, other) == []
    for offset, limit in ((-1, 1), (0, -2)):
        with pytest.raises(InvalidInput):
            await services.tool_results.read(scope, TALK, identifier, offset=offset, limit=limit)


async def test_a_session_that_moves_brings_its_texts_along(services: Services, scope: Scope) -> None:
    await store(services, scope, ran(LONG))
    exported = [batch async for batch in services.transfers.export(scope, TALK)]
    await services.transfers.bring_in(scope, "copy", iter(exported))
    (kept,) = await services.tool_results.list_newest(scope, "copy", limit=5)
    assert (kept.kind, kept.synopsis, kept.chars) == ("text", "4000 lines", len(LONG))
    assert (await services.tool_results.read(scope, "copy", kept.tool_result_id, offset=0, limit=-1)).content == LONG
    (shown,) = (await services.context.assemble(scope, "copy", 10_000)).fitted.messages
    reference = f"viking://session/copy/tool-results/{kept.tool_result_id}"
    assert shown.parts[0]["tool_output_ref"] == reference
    assert reference in shown.parts[0]["tool_output"]
    assert TALK not in shown.parts[0]["tool_output"]


async def test_a_deleted_session_takes_its_texts_along(
    services: Services, scope: Scope, superuser: psycopg.Connection
) -> None:
    await store(services, scope, ran(LONG))
    await services.sessions.delete(scope, TALK)
    assert superuser.execute("SELECT count(*) FROM cairn.tool_results").fetchone() == (0,)
