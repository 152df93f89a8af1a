import asyncio

import pytest

from app.bootstrap import Services
from app.domain.errors import AlreadyExists, InvalidInput, NotFound
from app.domain.scope import Role


async def test_names_are_made_once_and_mean_the_same_rows_ever_after(services: Services) -> None:
    scopes = await asyncio.gather(*(services.identity.by_names("acme", "ann", create=True) for _ in range(10)))
    assert len({(scope.account_id, scope.user_id) for scope in scopes if scope}) == 1
    assert await services.identity.by_names("acme", "nobody") is None
    assert await services.identity.by_names("nowhere", "ann") is None


async def test_a_key_opens_the_room_of_its_user(services: Services) -> None:
    admin_key = await services.identity.create_account("acme", "root.ann")
    user_key = await services.identity.create_user("acme", "bob")
    admin, user = await services.identity.by_key(admin_key), await services.identity.by_key(user_key)
    assert (admin.account_name, admin.user_name, admin.role) == ("acme", "root.ann", Role.ADMIN)
    assert (user.account_name, user.user_name, user.role) == ("acme", "bob", Role.USER)
    assert await services.identity.by_key(user_key + "x") is None
    assert await services.identity.by_key("") is None
    assert [user.name for user in await services.identity.list_users("acme")] == ["bob", "root.ann"]
    assert [(account.name, account.user_count) for account in await services.identity.list_accounts()] == [("acme", 2)]


async def test_a_renewed_key_ends_the_old_one(services: Services) -> None:
    old = await services.identity.create_account("acme", "ann")
    assert await services.identity.by_key(old)
    new = await services.identity.renew_key("acme", "ann")
    assert await services.identity.by_key(old) is None
    assert (await services.identity.by_key(new)).user_name == "ann"


async def test_what_is_there_already_or_not_at_all_is_said(services: Services) -> None:
    await services.identity.create_account("acme", "ann")
    with pytest.raises(AlreadyExists):
        await services.identity.create_account("acme", "bob")
    with pytest.raises(AlreadyExists):
        await services.identity.create_user("acme", "ann")
    with pytest.raises(NotFound):
        await services.identity.create_user("nowhere", "ann")
    with pytest.raises(NotFound):
        await services.identity.renew_key("acme", "nobody")
    with pytest.raises(NotFound):
        await services.identity.list_users("nowhere")
    with pytest.raises(InvalidInput):
        await services.identity.create_account("a/b", "ann")
    with pytest.raises(InvalidInput):
        await services.identity.by_names("acme", "_x", create=True)
