"""The composition root: builds every service once, from settings."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from app.domain.auto_commit import AutoCommitPolicy
from app.domain.errors import InvalidInput
from app.domain.tokens import TokenCounter
from app.domain.tool_results.externalising import ToolResultLimits
from app.providers.breaker import BreakerStore, BreakingModel
from app.providers.capabilities import CapabilityStore
from app.providers.extractive.model import ExtractiveModel
from app.providers.guarded import GuardedModel
from app.providers.ports import ChatModel
from app.providers.tokenizer import build_token_counter
from app.services.archives import Archives
from app.services.auto_commits import AutoCommits
from app.services.commits import Commits
from app.services.context import Contexts
from app.services.health import Health
from app.services.identity import Identities
from app.services.jobs import Jobs
from app.services.messages import Messages
from app.services.model_breakers import StoredBreakers
from app.services.model_capabilities import StoredCapabilities
from app.services.sealing import Sealing
from app.services.sessions import Sessions
from app.services.tasks import Tasks
from app.services.tool_results import ToolResults
from app.services.transfers import Transfers
from app.services.upkeep import Upkeep
from app.services.working_memory.asking import Asking
from app.services.working_memory.corrections import Corrections
from app.services.working_memory.questions import Questions
from app.services.working_memory.working_memories import WorkingMemories
from app.settings import Settings
from app.storage import migrations
from app.storage.task_changes import TaskChanges
from app.storage.transaction import Database, transaction_open


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """How much one worker does at a time, and how long it may take."""

    slots: int
    lease_seconds: float
    step_deadline_seconds: float
    idle_sweep_seconds: float


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a doorway may use."""

    database: Database
    count_tokens: TokenCounter
    model: ChatModel
    auth_mode: str
    root_key: str | None
    sessions: Sessions
    transfers: Transfers
    messages: Messages
    commits: Commits
    auto_commits: AutoCommits
    context: Contexts
    archives: Archives
    tool_results: ToolResults
    tasks: Tasks
    working_memory: WorkingMemories
    corrections: Corrections
    identity: Identities
    jobs: Jobs
    upkeep: Upkeep
    health: Health
    worker_limits: WorkerLimits

    @property
    def provider(self) -> str:
        """Return the name under which the configured model appears in every reply."""
        return self.model.provider


def build_model(
    settings: Settings, count_tokens: TokenCounter, capabilities: CapabilityStore, breakers: BreakerStore
) -> GuardedModel:
    """Return the model that settings name: an OpenAI-compatible one, or the rules where none is named.

    It refuses to work while a database transaction is open.
    capabilities, breakers: where it keeps what its service was found to take, and how often that failed.
    Raises: InvalidInput for a model service without the name of a model, or a name without a service.
    """
    if settings.model_name is None:
        if settings.model_base_url or settings.model_api_key:
            raise InvalidInput("CAIRN_MODEL_BASE_URL or CAIRN_MODEL_API_KEY is set: set CAIRN_MODEL_NAME too.")
        return _guarded(ExtractiveModel(count_tokens))
    if not (settings.model_base_url or settings.model_api_key or os.environ.get("OPENAI_API_KEY")):
        raise InvalidInput(
            "CAIRN_MODEL_NAME is set: set CAIRN_MODEL_BASE_URL for a service of your own, or CAIRN_MODEL_API_KEY."
        )
    # The openai package costs most of a second to import: only a server that asks a model pays for it.
    from app.providers.openai_compatible import OpenAICompatibleModel

    key = settings.model_api_key.get_secret_value() if settings.model_api_key else None
    model = OpenAICompatibleModel(
        base_url=settings.model_base_url,
        api_key=key,
        model=settings.model_name,
        timeout_seconds=settings.model_timeout_seconds,
        capabilities=capabilities,
    )
    return _guarded(BreakingModel(model, breakers))


def _stored_model(settings: Settings, count_tokens: TokenCounter, database: Database) -> GuardedModel:
    return build_model(settings, count_tokens, StoredCapabilities(database), StoredBreakers(database))


def _now() -> datetime:
    return datetime.now(UTC)


def _guarded(model: ChatModel) -> GuardedModel:
    return GuardedModel(model, transaction_open)


def auth_mode(settings: Settings) -> str:
    """Return how callers are known: as set, else by keys where there is a root key, else not at all."""
    return settings.auth_mode or ("api_key" if settings.root_key else "dev")


@asynccontextmanager
async def build(settings: Settings, *, database_url: str, model: ChatModel | None = None) -> AsyncIterator[Services]:
    """Open the database and yield the services; leaving the block gives every connection back.

    database_url: the application's login. model: instead of the one that settings name.
    Raises: Unavailable when the database cannot be reached, InvalidInput for an unknown tokenizer or half a model.
    """
    count_tokens = await asyncio.to_thread(build_token_counter, settings.tokenizer)
    direct = settings.database_direct_url
    async with AsyncExitStack() as stack:
        database = await Database.open(
            database_url,
            pool_size=settings.pool_size,
            pool_wait_seconds=settings.pool_wait_seconds,
            direct_dsn=direct.get_secret_value() if direct else None,
        )
        stack.push_async_callback(database.close)
        built = _guarded(model) if model else _stored_model(settings, count_tokens, database)
        stack.push_async_callback(built.aclose)
        changes = TaskChanges(database)
        stack.push_async_callback(changes.aclose)
        yield _services(settings, database, count_tokens, built, changes)


def _working_memories(
    settings: Settings, database: Database, count_tokens: TokenCounter, model: ChatModel
) -> WorkingMemories:
    questions = Questions(
        count_tokens,
        window_tokens=settings.model_context_tokens if settings.model_name else None,
        deadline_seconds=settings.step_deadline_seconds,
    )
    return WorkingMemories(database, Asking(database, model, questions), questions, count_tokens)


def _tool_result_limits(settings: Settings) -> ToolResultLimits:
    return ToolResultLimits(
        threshold=settings.tool_result_threshold_chars,
        preview_chars=settings.tool_result_preview_chars,
        inline_budget=settings.tool_result_inline_budget_chars,
        preview_budget=settings.tool_result_preview_budget_chars,
        least_preview=settings.tool_result_min_preview_chars,
    )


def _services(
    settings: Settings, database: Database, count_tokens: TokenCounter, model: ChatModel, changes: TaskChanges
) -> Services:
    sealing = Sealing(settings.max_attempts)
    auto_commits = AutoCommits(database, sealing, now=_now)
    session_policy = AutoCommitPolicy() if settings.auto_commit else None
    return Services(
        database=database,
        count_tokens=count_tokens,
        model=model,
        auth_mode=auth_mode(settings),
        root_key=settings.root_key.get_secret_value() if settings.root_key else None,
        sessions=Sessions(database, now=_now, session_policy=session_policy),
        transfers=Transfers(database, count_tokens, max_attempts=settings.max_attempts),
        messages=Messages(
            database, count_tokens, auto_commits, session_policy=session_policy, limits=_tool_result_limits(settings)
        ),
        commits=Commits(database, sealing),
        auto_commits=auto_commits,
        context=Contexts(database, count_tokens),
        archives=Archives(database),
        tool_results=ToolResults(database),
        tasks=Tasks(database, changes, max_attempts=settings.max_attempts),
        working_memory=_working_memories(settings, database, count_tokens, model),
        corrections=Corrections(database, count_tokens),
        identity=Identities(database),
        jobs=Jobs(database, lease_seconds=settings.lease_seconds),
        upkeep=Upkeep(
            database,
            max_attempts=settings.max_attempts,
            jobs_days=settings.keep_jobs_days,
            model_answers_days=settings.keep_model_answers_days,
        ),
        health=Health(database, head=migrations.head()),
        worker_limits=WorkerLimits(
            settings.worker_slots,
            settings.lease_seconds,
            settings.step_deadline_seconds,
            settings.idle_sweep_seconds,
        ),
    )
