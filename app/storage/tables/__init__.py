"""The tables as SQLAlchemy Core sees them; the migrations are what makes them, and a test keeps both equal."""

from app.storage.tables.archives import archives, working_memory_deferred, working_memory_sections
from app.storage.tables.jobs import idempotency_keys, jobs, model_answers, model_calls
from app.storage.tables.metadata import metadata
from app.storage.tables.models import model_breakers, model_capabilities
from app.storage.tables.sessions import messages, sessions, tool_calls, tool_results
from app.storage.tables.tenancy import accounts, api_keys, users

__all__ = [
    "accounts",
    "api_keys",
    "archives",
    "idempotency_keys",
    "jobs",
    "messages",
    "metadata",
    "model_answers",
    "model_breakers",
    "model_calls",
    "model_capabilities",
    "sessions",
    "tool_calls",
    "tool_results",
    "users",
    "working_memory_deferred",
    "working_memory_sections",
]
