"""Everything that can be configured, read once from CAIRN_* variables.

Values only, no logic: who reads them are the processes (`main`, `cli`), the composition root (`bootstrap`) and
`migrations/env.py`. README.md lists them; a test keeps the list and this class equal.
"""

import os
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

MIB = 1024 * 1024


def _default_api_workers() -> int:
    return min(2, os.cpu_count() or 1)


class Settings(BaseSettings):
    """The settings of one process. Raises pydantic's ValidationError when a value does not fit."""

    model_config = SettingsConfigDict(env_prefix="CAIRN_", env_ignore_empty=True, extra="ignore", frozen=True)

    # Where it lives and listens
    home: Path = Field(Path("~/.cairn"), description="Folder of the embedded PostgreSQL, its password and the lock.")
    host: str = Field("127.0.0.1", description="Address the API listens on.")
    port: int = Field(1933, ge=0, le=65535, description="Port the API listens on; 0 takes a free one.")
    api_workers: int = Field(
        default_factory=_default_api_workers, ge=1, le=64, description="Number of API processes of `cairn serve`."
    )
    allowed_hosts: str = Field(
        "", description="Comma-separated names under which the server may be called, beside loopback; empty allows any."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="How much is logged.")
    log_json: bool = Field(False, description="Log as JSON lines instead of text.")
    max_body_bytes: int = Field(16 * MIB, ge=1_000, description="Largest body of a request, in bytes; more is a 413.")
    max_message_bytes: int = Field(
        4 * MIB, ge=1_000, le=64 * MIB, description="Largest single message, in bytes of its JSON; more is a 413."
    )
    max_import_bytes: int = Field(
        1024 * MIB, ge=1_000, description="Largest session that may be imported, in bytes of its JSON lines."
    )

    # PostgreSQL
    database_url: SecretStr | None = Field(
        None, description="PostgreSQL 15 or newer to use instead of the embedded one; the login of the application."
    )
    database_owner_url: SecretStr | None = Field(
        None, description="Login that migrates; default: the same as CAIRN_DATABASE_URL."
    )
    database_direct_url: SecretStr | None = Field(
        None,
        description="Address that bypasses a transaction pooler, for LISTEN and migrations; setting it also "
        "turns prepared statements off on CAIRN_DATABASE_URL.",
    )
    pg_bin: Path | None = Field(None, description="Folder with initdb and postgres to use for the embedded server.")
    pool_size: int = Field(10, ge=1, le=200, description="Connections per process and pool at most.")
    pool_wait_seconds: float = Field(
        5.0, gt=0, le=60, description="Longest wait of a request for a free connection; then it is answered 503."
    )

    # Who may call
    auth_mode: Literal["dev", "api_key", "trusted"] | None = Field(
        None,
        description="dev: no keys, loopback only; api_key: a key per request; trusted: a gateway names the "
        "tenant. Default: api_key where CAIRN_ROOT_KEY is set, else dev.",
    )
    root_key: SecretStr | None = Field(None, description="Key of the administrator; makes accounts, users and keys.")

    # The model
    model_base_url: str | None = Field(None, description="Address of an OpenAI-compatible API, with /v1.")
    model_api_key: SecretStr | None = Field(None, description="Key of the model service.")
    model_name: str | None = Field(None, description="Model to ask; without it, rules do a model's job.")
    model_context_tokens: int = Field(128_000, ge=2_000, description="Window of the model, in tokens.")
    model_timeout_seconds: float = Field(120.0, gt=0, description="Longest wait for one answer of the model.")
    tokenizer: str = Field("o200k_base", description="Encoding, or the name of a model, by which tokens are counted.")

    # The worker
    worker_slots: int = Field(4, ge=1, le=256, description="Jobs one worker process runs at a time.")
    lease_seconds: float = Field(60.0, gt=0, description="After this long without a heartbeat a job is taken over.")
    max_attempts: int = Field(5, ge=1, le=100, description="Attempts of a job before it ends failed.")
    step_deadline_seconds: float = Field(600.0, gt=0, description="Longest time for one attempt of one job.")
    keep_jobs_days: float = Field(
        90.0, gt=0, description="After so many days a finished job is forgotten; one that can be retried is kept."
    )
    keep_model_answers_days: float = Field(
        30.0, gt=0, description="After so many days the raw answers of the model are forgotten."
    )

    # Large outputs and inputs of tools
    tool_result_threshold_chars: int = Field(
        20_000,
        ge=0,
        description="A longer output or input of a tool is kept beside its message, which shows a preview; 0 never.",
    )
    tool_result_preview_chars: int = Field(2_000, ge=500, description="Size of a preview at most, in characters.")
    tool_result_min_preview_chars: int = Field(
        1_000, ge=500, description="Size below which previews are not made to share their budget."
    )
    tool_result_inline_budget_chars: int = Field(
        100_000, ge=1_000, description="Characters of tools in one message; beyond, the largest are kept beside it too."
    )
    tool_result_preview_budget_chars: int = Field(
        10_000, ge=500, description="Characters that the previews of one message share."
    )

    # Sessions that commit themselves
    auto_commit: bool = Field(
        False, description="Give a new session that says nothing about it the default policy for committing itself."
    )
    idle_sweep_seconds: float = Field(60.0, gt=0, description="Pause between two looks for silent sessions to commit.")
