"""What a client sends to make a session, and to change when it commits itself."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from app.api.schemas.fields import Body, TelemetryWish
from app.domain import auto_commit
from app.domain.sessions import ConfigChanges

_DEFAULTS = auto_commit.AutoCommitPolicy()


def _clamped(value: object, info: ValidationInfo) -> int:
    """Take any number, as clients send them: fractions are cut, and what is out of range is the nearest that is not."""
    try:
        return auto_commit.clamped(str(info.field_name), value)
    except ValueError as error:
        raise PydanticCustomError("number", "{reason}", {"reason": str(error)}) from None


_Number: TypeAlias = Annotated[int, BeforeValidator(_clamped)]


class AutoCommitPolicy(Body):
    """When a session commits itself; fields that are left out stay as they are, in a new policy as shown here."""

    pending_token_threshold: _Number = _DEFAULTS.pending_token_threshold
    message_count_threshold: _Number = _DEFAULTS.message_count_threshold
    idle_timeout_seconds: _Number = _DEFAULTS.idle_timeout_seconds
    keep_recent_count: _Number = _DEFAULTS.keep_recent_count
    min_commit_interval_seconds: _Number = _DEFAULTS.min_commit_interval_seconds


class CreateSession(Body):
    """A session by name; without a name it gets a fresh one."""

    session_id: str | None = None
    memory_policy: dict[str, Any] | None = None
    auto_commit_policy: AutoCommitPolicy | None = None
    memory_extraction_config: dict[str, Any] | None = None
    telemetry: TelemetryWish = None

    def policies(self, default_policy: Mapping[str, object] | None) -> dict[str, Mapping[str, object] | None]:
        """Return what belongs to the session beside its name, by the names the services use.

        default_policy: that of a body which says nothing about committing itself; null in it is off.
        """
        given = self.auto_commit_policy.model_dump() if self.auto_commit_policy else None
        return {
            "memory_policy": self.memory_policy,
            "auto_commit_policy": given if "auto_commit_policy" in self.model_fields_set else default_policy,
            "memory_extraction_config": self.memory_extraction_config,
        }


class UpdateSessionConfig(Body):
    """What changes of a session: fields that are left out stay; null for a policy turns it off."""

    auto_commit_policy: AutoCommitPolicy | None = None
    memory_extraction_config: dict[str, Any] | None = None
    telemetry: TelemetryWish = None

    def changes(self) -> ConfigChanges:
        """Return the changes in the words of the domain."""
        given = self.auto_commit_policy.model_dump(exclude_unset=True) if self.auto_commit_policy else {}
        turned_off = self.auto_commit_policy is None and "auto_commit_policy" in self.model_fields_set
        asked = self.auto_commit_policy is not None
        return ConfigChanges(given if asked else None, turned_off, self.memory_extraction_config)
