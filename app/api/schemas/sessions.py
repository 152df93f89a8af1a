"""What a client sends to make a session."""

from typing import Annotated, Any, Final, TypeAlias

from annotated_types import Ge, Le

from app.api.schemas.fields import Body, TelemetryWish

DEFAULT_PENDING_TOKENS: Final = 150_000
DEFAULT_MESSAGES: Final = 100
DEFAULT_IDLE_SECONDS: Final = 86_400

_Count: TypeAlias = Annotated[int, Ge(0)]


class AutoCommitPolicy(Body):
    """When a session is committed by itself; fields that are left out take the values shown here."""

    pending_token_threshold: Annotated[_Count, Le(1_000_000)] = DEFAULT_PENDING_TOKENS
    message_count_threshold: Annotated[_Count, Le(1_000)] = DEFAULT_MESSAGES
    idle_timeout_seconds: Annotated[_Count, Le(604_800)] = DEFAULT_IDLE_SECONDS
    keep_recent_count: Annotated[_Count, Le(10_000)] = 0
    min_commit_interval_seconds: Annotated[_Count, Le(604_800)] = 0


class CreateSession(Body):
    """A session by name; without a name it gets a fresh one."""

    session_id: str | None = None
    memory_policy: dict[str, Any] | None = None
    auto_commit_policy: AutoCommitPolicy | None = None
    memory_extraction_config: dict[str, Any] | None = None
    telemetry: TelemetryWish = None

    def policies(self) -> dict[str, dict[str, Any] | None]:
        """Return what belongs to the session beside its name, by the names the services use."""
        return {
            "memory_policy": self.memory_policy,
            "auto_commit_policy": self.auto_commit_policy.model_dump() if self.auto_commit_policy else None,
            "memory_extraction_config": self.memory_extraction_config,
        }
