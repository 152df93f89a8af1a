"""Sessions as clients read them."""

from collections.abc import Mapping
from typing import Any

from typing_extensions import TypedDict

from app.api.views.names import UserView, milliseconds, milliseconds_or_none, session_uri, user_view
from app.domain.auto_commit import AutoCommitPolicy
from app.domain.retention import RetentionMode
from app.domain.scope import Scope
from app.domain.sessions import Session, SpentTokens


class CreatedSessionView(TypedDict):
    session_id: str
    uri: str
    user: UserView
    auto_commit_policy: dict[str, Any] | None
    memory_extraction_config: dict[str, Any]


class SessionEntryView(TypedDict):
    session_id: str
    uri: str
    is_dir: bool
    mod_time: str


class SessionConfigView(TypedDict):
    session_id: str
    auto_commit_policy: dict[str, Any] | None
    memory_extraction_config: dict[str, Any]


class DeletionReceipt(TypedDict):
    deleted_rows: dict[str, int]
    deleted_rows_total: int


class DeletedSessionView(TypedDict):
    session_id: str
    cairn: DeletionReceipt


class ExtractedView(TypedDict):
    total: int


class ModelTokensView(TypedDict):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cached_tokens: int
    reasoning_tokens: int


class EmbeddingTokensView(TypedDict):
    total_tokens: int


class SessionView(TypedDict):
    session_id: str
    created_at: str
    updated_at: str
    created_by_account_id: str
    created_by_user_id: str
    message_count: int
    commit_count: int
    memories_extracted: ExtractedView
    last_commit_at: str | None
    llm_token_usage: ModelTokensView
    embedding_token_usage: EmbeddingTokensView
    pending_tokens: int
    keep_recent_count: int
    retention_mode: str
    keep_recent_turn_count: int | None
    retained_message_token_budget: int | None
    min_raw_tail_steps: int | None
    memory_policy: dict[str, Any] | None
    auto_commit_policy: dict[str, Any] | None
    last_message_at: str | None
    last_auto_commit_at: str | None
    total_message_count: int
    uri: str
    user: UserView
    memory_extraction_config: dict[str, Any]


def created_session_view(scope: Scope, session: Session) -> CreatedSessionView:
    return {
        "session_id": session.name,
        "uri": session_uri(scope, session.name),
        "user": user_view(scope),
        "auto_commit_policy": _policy(session.auto_commit_policy),
        "memory_extraction_config": _extraction_config(session),
    }


def deleted_session_view(session_name: str, rows: Mapping[str, int]) -> DeletedSessionView:
    return {
        "session_id": session_name,
        "cairn": {"deleted_rows": dict(rows), "deleted_rows_total": sum(rows.values())},
    }


def session_config_view(session: Session) -> SessionConfigView:
    return {
        "session_id": session.name,
        "auto_commit_policy": _policy(session.auto_commit_policy),
        "memory_extraction_config": _extraction_config(session),
    }


def session_entry_view(scope: Scope, session: Session) -> SessionEntryView:
    return {
        "session_id": session.name,
        "uri": session_uri(scope, session.name),
        "is_dir": True,
        "mod_time": milliseconds(session.updated_at),
    }


def session_view(scope: Scope, session: Session, spent: SpentTokens) -> SessionView:
    """Return a session; message_count are the live messages, total_message_count all that were ever added.

    The three fields of a turn budget are None in a session that keeps messages by number.
    """
    by_turns = session.retention_mode == RetentionMode.TURN_BUDGET
    return {
        "session_id": session.name,
        "created_at": milliseconds(session.created_at),
        "updated_at": milliseconds(session.updated_at),
        "created_by_account_id": scope.account_name,
        "created_by_user_id": scope.user_name,
        "message_count": session.live_count,
        "commit_count": session.archive_count,
        "memories_extracted": {"total": 0},
        "last_commit_at": milliseconds_or_none(session.last_commit_at),
        "llm_token_usage": {
            "prompt_tokens": spent.prompt,
            "completion_tokens": spent.completion,
            "total_tokens": spent.prompt + spent.completion,
            "cached_tokens": 0,
            "reasoning_tokens": 0,
        },
        "embedding_token_usage": {"total_tokens": 0},
        "pending_tokens": session.pending_tokens,
        "keep_recent_count": session.keep_recent_count,
        "retention_mode": session.retention_mode,
        "keep_recent_turn_count": session.keep_recent_turn_count if by_turns else None,
        "retained_message_token_budget": session.retained_message_token_budget if by_turns else None,
        "min_raw_tail_steps": session.min_raw_tail_steps if by_turns else None,
        "memory_policy": _plain(session.memory_policy),
        "auto_commit_policy": _policy(session.auto_commit_policy),
        "last_message_at": milliseconds_or_none(session.last_message_at),
        "last_auto_commit_at": milliseconds_or_none(session.last_auto_commit_at),
        "total_message_count": session.last_seq,
        "uri": session_uri(scope, session.name),
        "user": user_view(scope),
        "memory_extraction_config": _extraction_config(session),
    }


def _plain(value: Mapping[str, object] | None) -> dict[str, Any] | None:
    return dict(value) if value is not None else None


def _policy(stored: Mapping[str, object] | None) -> dict[str, Any] | None:
    """Return a policy with all its fields; None means that the session is never committed by itself."""
    return {**AutoCommitPolicy.stored(stored).as_dict()} if stored is not None else None


def _extraction_config(session: Session) -> dict[str, Any]:
    return {"events": {"tags": []}, **(session.memory_extraction_config or {})}
