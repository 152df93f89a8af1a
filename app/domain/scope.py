"""Who is asking: the one value that every read and write of user data needs."""

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a caller may do. `root` administers the server and sees no tenant's data unless it also names one."""

    ROOT = "root"
    ADMIN = "admin"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Scope:
    """One user of one account.

    account_id and user_id are the row ids; account_name and user_name are what people call them and what URIs show.
    Only `api/auth.py` makes one (and, later, the MCP doorway).
    """

    account_id: int
    user_id: int
    account_name: str
    user_name: str
    role: Role = Role.USER
