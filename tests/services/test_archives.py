import pytest

from app.bootstrap import Services
from app.domain.errors import NotFound
from app.domain.scope import Scope
from tests.support.fake_model import REFUSED, FakeModel
from tests.support.house import commit, ended, tell, working


async def test_an_archive_shows_its_messages_and_the_document_after_it(
    services: Services, scope: Scope, model: FakeModel
) -> None:
    async with working(services):
        await ended(services, scope, await commit(services, scope, "talk", "one", "two"))
        model.turns.append(REFUSED)
        await ended(services, scope, await commit(services, scope, "talk", "three"))
    await tell(services, scope, "talk", "live")
    first = await services.archives.get(scope, "talk", "archive_001")
    assert [message.seq for message in first.messages] == [1, 2]
    assert first.overview.startswith("# Working Memory")
    assert "two" in first.overview
    failed = await services.archives.get(scope, "talk", "archive_002")
    assert ([message.seq for message in failed.messages], failed.overview) == ([3], "")
    listed = await services.archives.list_all(scope, "talk")
    assert [(archive.archive_id, archive.status) for archive in listed] == [
        ("archive_001", "completed"), ("archive_002", "failed"),
    ]  # fmt: skip


@pytest.mark.parametrize("archive_id", ["archive_002", "archive_1", "archive_000", "", "x", "archive_999999999"])
async def test_an_archive_that_is_not_there_is_not_found(services: Services, scope: Scope, archive_id: str) -> None:
    await commit(services, scope, "talk", "one")
    with pytest.raises(NotFound):
        await services.archives.get(scope, "talk", archive_id)
