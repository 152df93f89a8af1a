"""Fields and rules that several request bodies share."""

from datetime import UTC, datetime
from typing import Annotated, Final, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints
from pydantic_core import PydanticCustomError

EARLIEST_YEAR: Final = 1
LATEST_YEAR: Final = 9998
"""Times are shown in the zone of whoever reads; the outermost years would leave the calendar there."""


class Body(BaseModel):
    """A request body: an unknown field is refused by name, a number is not a string and `true` is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TelemetryOptions(Body):
    summary: bool = True


TelemetryWish: TypeAlias = bool | TelemetryOptions | None


def parse_time(text: str) -> datetime:
    """Return an ISO 8601 time; one without a zone is UTC. Raises ValueError or OverflowError for anything else."""
    moment = datetime.fromisoformat(text)
    utc = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    if not EARLIEST_YEAR < utc.year <= LATEST_YEAR:
        raise ValueError("out of range")
    return utc


def _is_a_time(text: str) -> str:
    try:
        parse_time(text)
    except (ValueError, OverflowError):
        raise PydanticCustomError("time", "must be an ISO 8601 time such as 2026-11-30T09:30:00Z") from None
    return text


IsoTime: TypeAlias = Annotated[str, StringConstraints(max_length=64), AfterValidator(_is_a_time)]
PeerId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9_.@-]+$", max_length=256)]
ShortText: TypeAlias = Annotated[str, StringConstraints(max_length=512)]
ClientMessageId: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=256)]
