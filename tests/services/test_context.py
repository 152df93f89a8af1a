import pytest

from app.bootstrap import Services
from app.domain.errors import InvalidInput, NotFound
from app.domain.scope import Scope
from tests.support.fake_model import FakeModel, Gate
from tests.support.house import commit, ended, tell, working


async def test_a_context_is_the_newest_document_and_every_message_it_does_not_cover(
    services: Services, scope: Scope, model: FakeModel
) -> None:
    async with working(services):
        await ended(services, scope, await commit(services, scope, "talk", "one", "two"))
        gate = Gate()
        model.turns.append(gate)
        running = await commit(services, scope, "talk", "three", "four")
        await gate.reached.wait()
        await commit(services, scope, "talk", "five")
        await tell(services, scope, "talk", "six")
        context = await services.context.assemble(scope, "talk", 10_000)
        assert [message.seq for message in context.fitted.messages] == [3, 4, 5, 6]
        assert "two" in context.fitted.overview
        mark = context.watermark
        assert (mark.covered_through_seq, mark.last_seq, mark.pending_archives) == (2, 6, 2)
        assert (context.archives, context.failed_archives) == (3, 0)
        assert (context.document_archive_no, context.document_provider) == (1, "fake")
        gate.opened.set()
        await ended(services, scope, running)


async def test_a_context_before_the_first_commit_is_the_conversation(services: Services, scope: Scope) -> None:
    await tell(services, scope, "talk", "one", "two")
    context = await services.context.assemble(scope, "talk", 10_000)
    assert ([message.seq for message in context.fitted.messages], context.fitted.overview) == ([1, 2], "")
    assert context.document_archive_no is None
    assert context.watermark.covered_through_seq == 0


async def test_what_does_not_fit_is_counted_not_hidden(services: Services, scope: Scope) -> None:
    await tell(services, scope, "talk", *["some words that take tokens"] * 10)
    each = services.count_tokens("some words that take tokens")
    context = await services.context.assemble(scope, "talk", 3 * each)
    assert [message.seq for message in context.fitted.messages] == [8, 9, 10]
    assert (context.fitted.message_tokens, context.fitted.dropped_messages) == (3 * each, 7)


@pytest.mark.parametrize("budget", [0, 1])
async def test_a_budget_of_next_to_nothing_shows_nothing(services: Services, scope: Scope, budget: int) -> None:
    await tell(services, scope, "talk", "more than one token")
    assert (await services.context.assemble(scope, "talk", budget)).fitted.messages == ()


async def test_a_context_of_nothing_is_refused(services: Services, scope: Scope) -> None:
    with pytest.raises(NotFound, match="Session not found: talk"):
        await services.context.assemble(scope, "talk", 1_000)
    with pytest.raises(InvalidInput) as refused:
        await services.context.assemble(scope, "talk", -1)
    assert refused.value.details == {"field": "token_budget"}
