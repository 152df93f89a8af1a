"""Parameters that several routes share, checked before a service sees them."""

from typing import Annotated, TypeAlias

from fastapi import Depends, Path

from app.domain.sessions import check_session_name


def _session_name(session_id: Annotated[str, Path(description="Name of the session.")]) -> str:
    return check_session_name(session_id)


SessionName: TypeAlias = Annotated[str, Depends(_session_name)]
