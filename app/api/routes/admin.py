"""Accounts, users and keys."""

from typing import Final, NotRequired

from fastapi import APIRouter, Request, Response
from typing_extensions import TypedDict

from app.api.auth import Admin, services_of
from app.api.body import read_body
from app.api.envelope import answers, ok, telemetry
from app.api.parameters import AccountName, UserName
from app.api.schemas.admin import CreateAccount, CreateUser, RenewKey
from app.api.views.names import milliseconds

router: Final = APIRouter(prefix="/api/v1/admin/accounts", tags=["administration"])


class CreatedAccountView(TypedDict):
    account_id: str
    admin_user_id: str
    user_key: NotRequired[str]


class AccountView(TypedDict):
    account_id: str
    created_at: str
    user_count: int


class CreatedUserView(TypedDict):
    account_id: str
    user_id: str
    user_key: NotRequired[str]


class AccountUserView(TypedDict):
    """api_key is always null: only its hash is kept."""

    user_id: str
    role: str
    api_key: None


class KeyView(TypedDict):
    user_key: str


def _keys_are_used(request: Request) -> bool:
    return services_of(request).auth_mode == "api_key"


@router.post("", responses=answers(CreatedAccountView), summary="Make an account")
async def create_account(request: Request, admin: Admin) -> Response:
    """Make an account with its first administrator, whose key is shown this once. Root only."""
    admin.require_root()
    body = await read_body(request, CreateAccount)
    body.refuse_what_is_not_built()
    key = await services_of(request).identity.create_account(body.account_id, body.admin_user_id)
    result: CreatedAccountView = {"account_id": body.account_id, "admin_user_id": body.admin_user_id}
    if _keys_are_used(request):
        result["user_key"] = key
    return ok(result, telemetry(request, body.telemetry, "admin.create_account"))


@router.get("", responses=answers(list[AccountView]), summary="List the accounts")
async def list_accounts(request: Request, admin: Admin) -> Response:
    """List all accounts. Root only."""
    admin.require_root()
    accounts = await services_of(request).identity.list_accounts()
    views: list[AccountView] = [
        {"account_id": one.name, "created_at": milliseconds(one.created_at), "user_count": one.user_count}
        for one in accounts
    ]
    return ok(views)


@router.post("/{account_id}/users", responses=answers(CreatedUserView), summary="Make a user")
async def create_user(request: Request, admin: Admin, account_id: AccountName) -> Response:
    """Make a user of an account, whose key is shown this once."""
    admin.require_account(account_id)
    body = await read_body(request, CreateUser)
    key = await services_of(request).identity.create_user(account_id, body.user_id, body.domain_role)
    result: CreatedUserView = {"account_id": account_id, "user_id": body.user_id}
    if _keys_are_used(request):
        result["user_key"] = key
    return ok(result, telemetry(request, body.telemetry, "admin.create_user"))


@router.get("/{account_id}/users", responses=answers(list[AccountUserView]), summary="List the users")
async def list_users(request: Request, admin: Admin, account_id: AccountName) -> Response:
    """List the users of an account."""
    admin.require_account(account_id)
    users = await services_of(request).identity.list_users(account_id)
    views: list[AccountUserView] = [{"user_id": one.name, "role": one.role.value, "api_key": None} for one in users]
    return ok(views)


@router.post("/{account_id}/users/{user_id}/key", responses=answers(KeyView), summary="Renew a key")
async def renew_key(request: Request, admin: Admin, account_id: AccountName, user_id: UserName) -> Response:
    """Give a user a new key, shown this once; the old ones are dead."""
    admin.require_account(account_id)
    body = await read_body(request, RenewKey)
    key = await services_of(request).identity.renew_key(account_id, user_id)
    return ok({"user_key": key}, telemetry(request, body.telemetry, "admin.renew_key"))
