"""What an administrator sends."""

from typing import Any, Literal

from app.api.schemas.fields import Body, TelemetryWish
from app.domain.errors import NotImplementedHere
from app.domain.scope import Role


class CreateAccount(Body):
    """An account and its first administrator."""

    account_id: str
    admin_user_id: str
    seed: str | None = None
    user_config: dict[str, Any] | None = None
    telemetry: TelemetryWish = None

    def refuse_what_is_not_built(self) -> None:
        """Raise NotImplementedHere for options that would otherwise be silently ignored."""
        for name in ("seed", "user_config"):
            if getattr(self, name):
                raise NotImplementedHere(f"{name} is not implemented: keys are random.", {"field": name})


class CreateUser(Body):
    """A user of an account."""

    user_id: str
    role: Literal["user", "admin"] = "user"
    telemetry: TelemetryWish = None

    @property
    def domain_role(self) -> Role:
        return Role(self.role)


class RenewKey(Body):
    """Nothing to say: a new key is random."""

    telemetry: TelemetryWish = None
