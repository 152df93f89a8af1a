"""How ids, addresses and times are written on the wire."""

from datetime import UTC, datetime

from typing_extensions import TypedDict

from app.domain.archives import archive_id
from app.domain.scope import Scope


class UserView(TypedDict):
    account_id: str
    user_id: str


def user_view(scope: Scope) -> UserView:
    return {"account_id": scope.account_name, "user_id": scope.user_name}


def user_uri(scope: Scope) -> str:
    return f"viking://user/{scope.user_name}"


def session_uri(scope: Scope, session_name: str) -> str:
    return f"{user_uri(scope)}/sessions/{session_name}"


def archive_uri(scope: Scope, session_name: str, archive_no: int) -> str:
    return f"{session_uri(scope, session_name)}/history/{archive_id(archive_no)}"


def canonical_uri(scope: Scope, uri: str) -> str:
    """Return an address with `~`, the caller's own root, written out."""
    rest = uri.removeprefix("viking://~")
    return user_uri(scope) + rest if rest != uri and rest[:1] in {"", "/"} else uri


def milliseconds(moment: datetime) -> str:
    """Return a time as sessions and archives show it: UTC, three digits, Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds_or_none(moment: datetime | None) -> str | None:
    return milliseconds(moment) if moment is not None else None


def microseconds(moment: datetime) -> str:
    """Return a time as messages and tasks show it: UTC, six digits, +00:00."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
