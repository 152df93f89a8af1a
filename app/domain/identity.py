"""Accounts, users and keys: who there is, before anybody speaks."""

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.domain.errors import InvalidInput
from app.domain.scope import Role

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,127}", re.ASCII)
KEY_PREFIX_LENGTH: Final = 12


@dataclass(frozen=True, slots=True)
class AccountTenant:
    """An administrator's view of one account, enough to open its rows."""

    account_id: int
    account_name: str


@dataclass(frozen=True, slots=True)
class AccountListing:
    name: str
    created_at: datetime
    user_count: int


@dataclass(frozen=True, slots=True)
class UserListing:
    name: str
    role: Role


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made; `secret` is shown this once, the database has its hash."""

    secret: str
    prefix: str
    sha256: bytes


def check_name(name: str, field: str) -> str:
    """Return an account or user name, or raise InvalidInput naming the field. A leading underscore is reserved."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise InvalidInput(
            f"Invalid {field}: 1 to 128 letters, digits and _ . @ -, beginning with a letter or digit, without '..'.",
            {"field": field},
        )
    return name


def hash_key(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def new_key(account_name: str, user_name: str) -> NewKey:
    """Make a key of three dot-separated base64url segments: account, user and 256 random bits."""
    segments = [account_name.encode(), user_name.encode(), secrets.token_bytes(32)]
    key = ".".join(base64.urlsafe_b64encode(segment).decode().rstrip("=") for segment in segments)
    secret_start = key.rindex(".") + 1
    return NewKey(key, key[secret_start : secret_start + KEY_PREFIX_LENGTH], hash_key(key))
