"""Use cases of accounts, users and keys."""

import time
from collections.abc import Callable
from typing import Final

from app.domain.errors import NotFound
from app.domain.identity import AccountListing, AccountTenant, UserListing, check_name, hash_key, new_key
from app.domain.scope import Role, Scope
from app.storage import identity
from app.storage.transaction import Database

CACHE_SECONDS: Final = 1.0
"""How long a looked-up identity is believed: a revoked key is out within this time on every process."""

CACHE_ENTRIES: Final = 10_000


class _RecentScopes:
    """Scopes looked up within the last second; a request per message must not mean a lookup per message."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: dict[object, tuple[float, Scope]] = {}

    def get(self, key: object) -> Scope | None:
        until, scope = self._kept.get(key, (0.0, None))
        return scope if scope is not None and self._clock() < until else None

    def keep(self, key: object, scope: Scope | None) -> Scope | None:
        if scope is not None:
            if len(self._kept) >= CACHE_ENTRIES:
                self._kept.clear()
            self._kept[key] = (self._clock() + CACHE_SECONDS, scope)
        return scope

    def forget_all(self) -> None:
        self._kept.clear()


class Identities:
    """Find out who asks, and administer who there is."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._recent = _RecentScopes(clock)

    async def by_names(
        self, account_name: str, user_name: str, role: Role = Role.USER, *, create: bool = False
    ) -> Scope | None:
        """Return the scope behind two names, making account and user when asked to. Raises InvalidInput."""
        key = (account_name, user_name, role)
        known = self._recent.get(key)
        if known is not None:
            return known
        check_name(account_name, "account_id")
        check_name(user_name, "user_id")
        async with self._database.statement(None) as statement:
            scope = await identity.find_by_names(statement, account_name, user_name, role, create=create)
        return self._recent.keep(key, scope)

    async def by_key(self, key: str) -> Scope | None:
        """Return whose living key this is."""
        digest = hash_key(key)
        known = self._recent.get(digest)
        if known is not None:
            return known
        async with self._database.statement(None) as statement:
            scope = await identity.find_by_key(statement, digest)
        return self._recent.keep(digest, scope)

    async def create_account(self, account_name: str, admin_user_name: str) -> str:
        """Make an account with its first administrator and return that one's key. Raises AlreadyExists."""
        check_name(account_name, "account_id")
        check_name(admin_user_name, "admin_user_id")
        key = new_key(account_name, admin_user_name)
        async with self._database.transaction(None) as tx:
            tenant = await identity.create_account(tx, account_name)
            user_id = await identity.create_user(tx, tenant, admin_user_name, Role.ADMIN)
            await identity.store_key(tx, tenant, user_id, key)
        return key.secret

    async def list_accounts(self) -> list[AccountListing]:
        async with self._database.statement(None) as statement:
            return await identity.list_accounts(statement)

    async def create_user(self, account_name: str, user_name: str, role: Role = Role.USER) -> str:
        """Make a user and return the key. Raises AlreadyExists, NotFound, InvalidInput."""
        check_name(user_name, "user_id")
        return await self._create_user(await self._account(account_name), user_name, role)

    async def list_users(self, account_name: str) -> list[UserListing]:
        """Return the users of an account. Raises NotFound."""
        tenant = await self._account(account_name)
        async with self._database.transaction(tenant) as tx:
            return await identity.list_users(tx, tenant)

    async def renew_key(self, account_name: str, user_name: str) -> str:
        """Return a new key; all earlier ones of that user are revoked. Raises NotFound."""
        tenant = await self._account(account_name)
        key = new_key(account_name, user_name)
        async with self._database.transaction(tenant) as tx:
            user_id = await identity.find_user(tx, tenant, user_name)
            if user_id is None:
                raise NotFound(f"User not found: {user_name}", {"type": "user", "resource": user_name})
            await identity.revoke_keys(tx, tenant, user_id)
            await identity.store_key(tx, tenant, user_id, key)
        self._recent.forget_all()
        return key.secret

    async def _create_user(self, tenant: AccountTenant, user_name: str, role: Role) -> str:
        key = new_key(tenant.account_name, user_name)
        async with self._database.transaction(tenant) as tx:
            user_id = await identity.create_user(tx, tenant, user_name, role)
            await identity.store_key(tx, tenant, user_id, key)
        return key.secret

    async def _account(self, name: str) -> AccountTenant:
        async with self._database.statement(None) as statement:
            tenant = await identity.find_account(statement, name)
        if tenant is None:
            raise NotFound(f"Account not found: {name}", {"type": "account", "resource": name})
        return tenant
