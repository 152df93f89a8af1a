"""What a client sends to commit a session."""

from typing import Annotated, Any, Final, Literal

from annotated_types import Ge, Le

from app.api.schemas.fields import Body, TelemetryWish
from app.domain.commits import CommitOptions
from app.domain.retention import MAX_NUMBER, retention_of
from app.domain.sessions import MAX_KEEP_RECENT

DEFAULT_WAIT_SECONDS: Final = 60.0
MAX_WAIT_SECONDS: Final = 600.0


class CommitSession(Body):
    """Archive the live messages but the newest keep_recent_count; with retention_mode "turn_budget", whole turns stay.

    enable_working_memory: false leaves this archive out of the working memory, for good.
    wait: answer only when the work after the commit has ended, or after `timeout` seconds.
    """

    keep_recent_count: Annotated[int, Ge(0), Le(MAX_KEEP_RECENT)] = 0
    wait: bool = False
    timeout: Annotated[float, Ge(0), Le(MAX_WAIT_SECONDS)] | None = None
    enable_working_memory: bool | None = None
    extraction_metadata: dict[str, Any] | None = None
    retention_mode: Literal["message_count", "turn_budget"] | None = None
    keep_recent_turn_count: Annotated[int, Ge(0), Le(MAX_NUMBER)] | None = None
    retained_message_token_budget: Annotated[int, Ge(1), Le(MAX_NUMBER)] | None = None
    min_raw_tail_steps: Annotated[int, Ge(0), Le(MAX_NUMBER)] | None = None
    telemetry: TelemetryWish = None

    def options(self) -> CommitOptions:
        """Return what is asked for in the words of the domain. Raises: InvalidInput."""
        retention = retention_of(
            keep_recent_count=self.keep_recent_count,
            mode=self.retention_mode,
            keep_recent_turn_count=self.keep_recent_turn_count,
            retained_message_token_budget=self.retained_message_token_budget,
            min_raw_tail_steps=self.min_raw_tail_steps,
        )
        return CommitOptions(retention, self.enable_working_memory, self.extraction_metadata)

    @property
    def wait_seconds(self) -> float:
        return DEFAULT_WAIT_SECONDS if self.timeout is None else self.timeout
