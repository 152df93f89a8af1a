"""What a client sends to commit a session."""

from typing import Annotated, Any, Final, Literal

from annotated_types import Ge, Le

from app.api.schemas.fields import Body, TelemetryWish
from app.domain.errors import NotImplementedHere
from app.domain.sessions import MAX_KEEP_RECENT

DEFAULT_WAIT_SECONDS: Final = 60.0
MAX_WAIT_SECONDS: Final = 600.0

_TURN_FIELDS: Final = ("keep_recent_turn_count", "retained_message_token_budget", "min_raw_tail_steps")


class CommitSession(Body):
    """Archive the live messages but the newest keep_recent_count.

    wait: answer only when the work after the commit has ended, or after `timeout` seconds.
    """

    keep_recent_count: Annotated[int, Ge(0), Le(MAX_KEEP_RECENT)] = 0
    wait: bool = False
    timeout: Annotated[float, Ge(0), Le(MAX_WAIT_SECONDS)] | None = None
    enable_working_memory: bool | None = None
    extraction_metadata: dict[str, Any] | None = None
    retention_mode: Literal["message_count", "turn_budget"] | None = None
    keep_recent_turn_count: Annotated[int, Ge(0)] | None = None
    retained_message_token_budget: Annotated[int, Ge(0)] | None = None
    min_raw_tail_steps: Annotated[int, Ge(0)] | None = None
    telemetry: TelemetryWish = None

    def refuse_what_is_not_built(self) -> None:
        """Raise NotImplementedHere for options that would otherwise be silently ignored."""
        if self.retention_mode == "turn_budget" or any(getattr(self, name) is not None for name in _TURN_FIELDS):
            raise NotImplementedHere(
                "Keeping whole turns (retention_mode, keep_recent_turn_count, retained_message_token_budget, "
                "min_raw_tail_steps) is not implemented yet; use keep_recent_count.",
                {"field": "retention_mode"},
            )
        if self.enable_working_memory is False:
            raise NotImplementedHere(
                "A commit without working memory is not implemented yet; leave enable_working_memory out.",
                {"field": "enable_working_memory"},
            )

    @property
    def wait_seconds(self) -> float:
        return DEFAULT_WAIT_SECONDS if self.timeout is None else self.timeout
