"""Who is asking. The only place that lets a Scope into a request.

    dev       no keys; account and user from the headers, else "default"; loopback only (the listener sees to that)
    api_key   a key per request; a user's key names its account, the root key administers and reads no user's data
    trusted   a gateway holds the root key and names account and user in headers

The words of the refusals are part of the contract: clients tell a root key from a bad one by them, so a plain bad key
must not be answered with words about tenants.
"""

import asyncio
import hmac
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Request

from app.bootstrap import Services
from app.domain.errors import AppError, Forbidden, InvalidInput, NotFound, Unauthenticated
from app.domain.scope import Role, Scope

ACCOUNT_HEADER: Final = "X-OpenViking-Account"
USER_HEADER: Final = "X-OpenViking-User"
ROLE_HEADER: Final = "X-OpenViking-Role"
DEFAULT_NAME: Final = "default"
_LIVENESS_SECONDS: Final = 0.25


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request; scope is None for the root key, which is nobody's."""

    role: Role
    scope: Scope | None

    @property
    def user_name(self) -> str:
        return self.scope.user_name if self.scope else Role.ROOT.value


def services_of(request: Request) -> Services:
    """Return the services of the application a request came to."""
    services: Services = request.app.state.services
    return services


async def identify(request: Request) -> Caller:
    """Return who sent a request. Raises: Unauthenticated, InvalidInput for a header that is missing or wrong."""
    return await _identify(request, create=True)


async def _identify(request: Request, *, create: bool) -> Caller:
    services = services_of(request)
    match services.auth_mode:
        case "dev":
            scope = await _by_headers(request, services, Role.ROOT, create=create, default=DEFAULT_NAME)
            return Caller(Role.ROOT, scope)
        case "trusted":
            if services.root_key is not None and not _is_root_key(_require_key(request), services.root_key):
                raise _bad_key()
            scope = await _by_headers(request, services, _stated_role(request), create=create)
            return Caller(scope.role, scope)
        case _:
            return await _by_key(_require_key(request), services)


async def tenant(request: Request) -> Scope:
    """Return whose data a request is about. Raises: Unauthenticated, InvalidInput, Forbidden for the root key."""
    caller = await identify(request)
    if caller.scope is None:
        raise Forbidden(
            "Tenant-scoped data APIs need a user or admin key; the root key only administers accounts and users."
        )
    return caller.scope


async def task_reader(request: Request) -> Scope:
    """Return whose tasks a request is about; the root key may look too, when it names account and user.

    Raises: Unauthenticated, InvalidInput, NotFound when root names somebody who does not exist.
    """
    caller = await identify(request)
    return caller.scope or await _by_headers(request, services_of(request), Role.ROOT, create=False)


async def optional_caller(request: Request) -> Caller | None:
    """Return who sent a request, None where that is not clear at once: liveness waits for nothing and makes nobody."""
    services = services_of(request)
    if services.auth_mode == "api_key" and presented_key(request) is None:
        return None
    try:
        async with asyncio.timeout(_LIVENESS_SECONDS):
            return await _identify(request, create=False)
    except (AppError, TimeoutError):
        return None


@dataclass(frozen=True, slots=True)
class Administrator:
    """Root, or the administrator of one account."""

    account_name: str | None

    def require_root(self) -> None:
        """Raises: Forbidden for anybody but root."""
        if self.account_name is not None:
            raise Forbidden("Requires role: root")

    def require_account(self, account_name: str) -> None:
        """Raises: Forbidden for the administrator of another account, whether or not that one exists."""
        if self.account_name is not None and self.account_name != account_name:
            raise Forbidden("Requires role: root")


async def administrator(request: Request) -> Administrator:
    """Return what a request may administer. Raises: Unauthenticated, InvalidInput, Forbidden."""
    services = services_of(request)
    if services.auth_mode == "dev":
        raise Forbidden("A server in dev mode has no keys to administer; set CAIRN_ROOT_KEY to begin with them.")
    if not _names_a_tenant(request, services) and _presents_root_key(request, services):
        return Administrator(None)
    caller = await identify(request)
    if caller.role is not Role.ADMIN or caller.scope is None:
        raise Forbidden("Requires role: root or admin")
    return Administrator(caller.scope.account_name)


def _names_a_tenant(request: Request, services: Services) -> bool:
    """Return whether a gateway, which always holds the root key, speaks for somebody rather than for itself."""
    return services.auth_mode == "trusted" and (ACCOUNT_HEADER in request.headers or USER_HEADER in request.headers)


def _presents_root_key(request: Request, services: Services) -> bool:
    return services.root_key is not None and _is_root_key(presented_key(request) or "", services.root_key)


def presented_key(request: Request) -> str | None:
    """Return the key a request carries: X-API-Key, else a bearer token. Basic credentials are none."""
    key = request.headers.get("x-api-key", "").strip()
    if key:
        return key
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def _require_key(request: Request) -> str:
    key = presented_key(request)
    if key is None:
        raise Unauthenticated("Missing API Key: send it as X-API-Key or as Authorization: Bearer.")
    return key


def _bad_key() -> Unauthenticated:
    return Unauthenticated("Invalid API Key")


def _is_root_key(key: str, root_key: str) -> bool:
    return hmac.compare_digest(key.encode("utf-8", "surrogatepass"), root_key.encode("utf-8", "surrogatepass"))


async def _by_key(key: str, services: Services) -> Caller:
    if services.root_key is not None and _is_root_key(key, services.root_key):
        return Caller(Role.ROOT, None)
    scope = await services.identity.by_key(key)
    if scope is None:
        raise _bad_key()
    return Caller(scope.role, scope)


async def _by_headers(
    request: Request, services: Services, role: Role, *, create: bool, default: str | None = None
) -> Scope:
    account, user = _header(request, ACCOUNT_HEADER, default), _header(request, USER_HEADER, default)
    scope = await services.identity.by_names(account, user, role, create=create)
    if scope is None:
        raise NotFound(f"User not found: {user}", {"type": "user", "resource": user})
    return scope


def _header(request: Request, name: str, default: str | None = None) -> str:
    value = request.headers.get(name, "").strip() or default
    if value is None:
        raise InvalidInput(f"Missing header: {name}", {"field": name})
    return value


def _stated_role(request: Request) -> Role:
    stated = request.headers.get(ROLE_HEADER, Role.USER.value).strip().lower()
    if stated not in {Role.USER, Role.ADMIN}:
        raise InvalidInput(f"Invalid {ROLE_HEADER}: it must be user or admin.", {"field": ROLE_HEADER})
    return Role(stated)


Tenant = Annotated[Scope, Depends(tenant)]
TaskReader = Annotated[Scope, Depends(task_reader)]
Admin = Annotated[Administrator, Depends(administrator)]
AnyCaller = Annotated[Caller, Depends(identify)]
OptionalCaller = Annotated[Caller | None, Depends(optional_caller)]
