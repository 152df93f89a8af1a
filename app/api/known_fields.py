"""The fields each route knows in its body. Anything else is refused by name.

A field that any client sends is known here, also where Cairn has no use for it: telemetry everywhere, the turn budget
of a commit. A misspelt option must not archive everything, and nobody names a tenant in a body.
"""

from collections.abc import Mapping
from typing import Final

from app.api.schemas.admin import CreateAccount, CreateUser, RenewKey
from app.api.schemas.commits import CommitSession
from app.api.schemas.fields import Body
from app.api.schemas.messages import AddMessage, AddMessages
from app.api.schemas.sessions import CreateSession, UpdateSessionConfig
from app.api.schemas.working_memory import CorrectSection

_SESSIONS: Final = "/api/v1/sessions"
_ACCOUNTS: Final = "/api/v1/admin/accounts"

KNOWN_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    f"POST {_SESSIONS}": frozenset(
        {"session_id", "memory_policy", "auto_commit_policy", "memory_extraction_config", "telemetry"}
    ),
    f"PATCH {_SESSIONS}/{{session_id}}/config": frozenset(
        {"auto_commit_policy", "memory_extraction_config", "telemetry"}
    ),
    f"POST {_SESSIONS}/{{session_id}}/messages": frozenset(
        {
            "role",
            "content",
            "parts",
            "created_at",
            "peer_id",
            "turn_id",
            "message_kind",
            "source_message_ids",
            "client_message_id",
            "telemetry",
        }
    ),
    f"POST {_SESSIONS}/{{session_id}}/messages/batch": frozenset({"messages", "telemetry"}),
    f"POST {_SESSIONS}/{{session_id}}/commit": frozenset(
        {
            "keep_recent_count",
            "wait",
            "timeout",
            "enable_working_memory",
            "extraction_metadata",
            "retention_mode",
            "keep_recent_turn_count",
            "retained_message_token_budget",
            "min_raw_tail_steps",
            "telemetry",
        }
    ),
    f"PUT {_SESSIONS}/{{session_id}}/working-memory/{{section}}": frozenset({"content", "telemetry"}),
    f"POST {_ACCOUNTS}": frozenset({"account_id", "admin_user_id", "seed", "user_config", "telemetry"}),
    f"POST {_ACCOUNTS}/{{account_id}}/users": frozenset({"user_id", "role", "telemetry"}),
    f"POST {_ACCOUNTS}/{{account_id}}/users/{{user_id}}/key": frozenset({"telemetry"}),
}

BODIES: Final[Mapping[str, type[Body]]] = {
    f"POST {_SESSIONS}": CreateSession,
    f"PATCH {_SESSIONS}/{{session_id}}/config": UpdateSessionConfig,
    f"POST {_SESSIONS}/{{session_id}}/messages": AddMessage,
    f"POST {_SESSIONS}/{{session_id}}/messages/batch": AddMessages,
    f"POST {_SESSIONS}/{{session_id}}/commit": CommitSession,
    f"PUT {_SESSIONS}/{{session_id}}/working-memory/{{section}}": CorrectSection,
    f"POST {_ACCOUNTS}": CreateAccount,
    f"POST {_ACCOUNTS}/{{account_id}}/users": CreateUser,
    f"POST {_ACCOUNTS}/{{account_id}}/users/{{user_id}}/key": RenewKey,
}
"""The schema behind each, for the documentation; a test keeps both tables and the routes equal."""
