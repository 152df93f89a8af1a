"""Accounts, users and keys as rows: lookups before any tenant is known, and administration."""

from typing import Final

import psycopg
import sqlalchemy as sa

from app.domain.errors import AlreadyExists
from app.domain.identity import AccountListing, AccountTenant, NewKey, UserListing
from app.domain.scope import Role, Scope
from app.storage import tables as t
from app.storage.failures import sqlstate
from app.storage.transaction import Statement, Transaction, enter_tenant

_FIND_IDENTITY: Final = "SELECT account_id, user_id FROM cairn.find_identity(%s, %s, %s)"
_FIND_KEY: Final = "SELECT account_id, account_name, user_id, user_name, role FROM cairn.find_key(%s)"
_CREATE_ACCOUNT: Final = sa.text("SELECT cairn.create_account(:name)")
_FIND_ACCOUNT: Final = "SELECT cairn.find_account(%s)"
_LIST_ACCOUNTS: Final = "SELECT name, created_at, user_count FROM cairn.list_accounts()"


async def find_by_names(
    statement: Statement, account_name: str, user_name: str, role: Role, *, create: bool
) -> Scope | None:
    """Return the scope behind two names, making account and user when asked to."""
    account_id, user_id = (await statement.rows(_FIND_IDENTITY, (account_name, user_name, create)))[0]
    if account_id is None or user_id is None:
        return None
    return Scope(account_id, user_id, account_name, user_name, role)


async def find_by_key(statement: Statement, key_sha256: bytes) -> Scope | None:
    """Return whose living key this is."""
    rows = await statement.rows(_FIND_KEY, (key_sha256,))
    if not rows:
        return None
    account_id, account_name, user_id, user_name, role = rows[0]
    return Scope(account_id, user_id, account_name, user_name, Role(role))


async def create_account(tx: Transaction, name: str) -> AccountTenant:
    """Make an account and go on as it, in a transaction that was opened for nobody. Raises AlreadyExists."""
    try:
        made = await tx.execute(_CREATE_ACCOUNT, {"name": name})
    except sa.exc.IntegrityError as error:
        if sqlstate(error) != psycopg.errors.UniqueViolation.sqlstate:
            raise
        raise AlreadyExists(f"Account already exists: {name}", {"type": "account", "resource": name}) from error
    tenant = AccountTenant(int(made.scalar_one()), name)
    await enter_tenant(tx, tenant)
    return tenant


async def find_account(statement: Statement, name: str) -> AccountTenant | None:
    rows = await statement.rows(_FIND_ACCOUNT, (name,))
    return AccountTenant(rows[0][0], name) if rows and rows[0][0] is not None else None


async def list_accounts(statement: Statement) -> list[AccountListing]:
    return [AccountListing(*row) for row in await statement.rows(_LIST_ACCOUNTS)]


async def create_user(tx: Transaction, tenant: AccountTenant, name: str, role: Role) -> int:
    """Make a user and return its row id. Raises AlreadyExists."""
    statement = sa.insert(t.users).values(account_id=tenant.account_id, name=name, role=role.value)
    try:
        return int((await tx.execute(statement.returning(t.users.c.id))).scalar_one())
    except sa.exc.IntegrityError as error:
        if sqlstate(error) != psycopg.errors.UniqueViolation.sqlstate:
            raise
        raise AlreadyExists(f"User already exists: {name}", {"type": "user", "resource": name}) from error


async def find_user(tx: Transaction, tenant: AccountTenant, name: str) -> int | None:
    """Return the row id of a user of the account."""
    query = sa.select(t.users.c.id).where(t.users.c.account_id == tenant.account_id, t.users.c.name == name)
    return (await tx.execute(query)).scalar_one_or_none()


async def list_users(tx: Transaction, tenant: AccountTenant) -> list[UserListing]:
    query = (
        sa.select(t.users.c.name, t.users.c.role)
        .where(t.users.c.account_id == tenant.account_id)
        .order_by(t.users.c.name)
    )
    return [UserListing(row.name, Role(row.role)) for row in await tx.execute(query)]


async def store_key(tx: Transaction, tenant: AccountTenant, user_id: int, key: NewKey, *, label: str = "") -> None:
    """Keep the hash of a new key."""
    await tx.execute(
        sa.insert(t.api_keys).values(
            account_id=tenant.account_id, user_id=user_id, prefix=key.prefix, key_sha256=key.sha256, label=label
        )
    )


async def revoke_keys(tx: Transaction, tenant: AccountTenant, user_id: int) -> int:
    """End all living keys of a user; return how many there were."""
    revoked = await tx.execute(
        sa.update(t.api_keys)
        .where(
            t.api_keys.c.account_id == tenant.account_id,
            t.api_keys.c.user_id == user_id,
            t.api_keys.c.revoked_at.is_(None),
        )
        .values(revoked_at=sa.func.clock_timestamp())
        .returning(t.api_keys.c.id)
    )
    return len(revoked.all())
