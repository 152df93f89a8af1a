"""Parameters that several routes share, checked before a service sees them."""

from typing import Annotated, TypeAlias

from fastapi import Depends, Path

from app.domain.identity import check_name
from app.domain.sessions import check_session_name


def _session_name(session_id: Annotated[str, Path(description="Name of the session.")]) -> str:
    return check_session_name(session_id)


def _account_name(account_id: Annotated[str, Path(description="Name of the account.")]) -> str:
    return check_name(account_id, "account_id")


def _user_name(user_id: Annotated[str, Path(description="Name of the user.")]) -> str:
    return check_name(user_id, "user_id")


SessionName: TypeAlias = Annotated[str, Depends(_session_name)]
AccountName: TypeAlias = Annotated[str, Depends(_account_name)]
UserName: TypeAlias = Annotated[str, Depends(_user_name)]
