"""What `cairn doctor` looks at, one judgement per function: facts in, finding out."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import httpx
from sqlalchemy.exc import SQLAlchemyError

from app.cli.database import Addresses, connections_wanted
from app.domain.errors import AppError
from app.providers.tokenizer import build_token_counter, describe_tokenizer
from app.settings import Settings
from app.storage.inspection import Fault, ServerFacts
from app.storage.migrations import current, head
from app.storage.roles import APP, OWNER, SYSTEM, missing_roles

Verdict: TypeAlias = Literal["ok", "warn", "fail"]
OLDEST_MAJOR = 15
MODEL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. advice says what to do, empty where nothing is."""

    subject: str
    verdict: Verdict
    found: str
    advice: str = ""


def database_findings(settings: Settings, addresses: Addresses, facts: ServerFacts) -> list[Finding]:
    """Judge the server, the database and the login of the application."""
    return [
        Finding("database", "ok", addresses.shown),
        version(facts),
        text_rules(facts),
        *extensions(facts),
        roles(addresses),
        app_login(facts),
        migrations(addresses),
        connections(settings, facts),
    ]


def version(facts: ServerFacts) -> Finding:
    if facts.major < OLDEST_MAJOR:
        return Finding("version", "fail", facts.version, f"Cairn needs PostgreSQL {OLDEST_MAJOR} or newer.")
    return Finding("version", "ok", f"PostgreSQL {facts.version}")


def text_rules(facts: ServerFacts) -> Finding:
    found = f"{facts.encoding}, character rules {facts.ctype}"
    if facts.encoding != "UTF8":
        return Finding("text", "fail", found, "Create the database with ENCODING 'UTF8'.")
    if facts.ctype in ("C", "POSIX"):
        return Finding(
            "text",
            "warn",
            found,
            "Chinese and Japanese count as no letters; create the database with LOCALE 'C.UTF-8'.",
        )
    return Finding("text", "ok", found)


def extensions(facts: ServerFacts) -> list[Finding]:
    without = {
        "vector": "Recall works by keywords only. Install pgvector on the database server.",
        "pg_trgm": "Fuzzy search is off. Install PostgreSQL's contrib package on the database server.",
        "pg_stat_statements": "Slow statements cannot be listed. Add it to shared_preload_libraries.",
    }
    return [
        Finding(f"extension {name}", "ok", f"available, {facts.extensions[name]}")
        if name in facts.extensions
        else Finding(f"extension {name}", "warn", "not available", advice)
        for name, advice in without.items()
    ]


def roles(addresses: Addresses) -> Finding:
    missing = missing_roles(addresses.owner_url)
    if missing:
        return Finding("roles", "fail", f"missing: {', '.join(missing)}", "Run `cairn migrate --create-roles` once.")
    return Finding("roles", "ok", f"{OWNER}, {APP}, {SYSTEM}")


def app_login(facts: ServerFacts) -> Finding:
    """Judge whether the login is held by row-level security."""
    if facts.sees_everything:
        return Finding(
            "login of the app",
            "warn",
            f"{facts.login} passes over row-level security",
            f"Cairn steps down to {APP}, but a login of its own is safer: CREATE ROLE … LOGIN; GRANT {APP} TO ….",
        )
    if APP not in facts.roles:
        return Finding(
            "login of the app", "fail", f"{facts.login} is no member of {APP}", f"GRANT {APP} TO {facts.login};"
        )
    return Finding("login of the app", "ok", f"{facts.login}, held by row-level security")


def migrations(addresses: Addresses) -> Finding:
    newest = head()
    try:
        found = current(addresses.app_url)
    except SQLAlchemyError:
        found = None
    if found == newest:
        return Finding("migrations", "ok", f"at the newest revision, {newest}")
    return Finding("migrations", "fail", f"at {found or 'nothing'}, newest is {newest}", "Run `cairn migrate`.")


def connections(settings: Settings, facts: ServerFacts) -> Finding:
    wanted = connections_wanted(settings)
    found = f"`cairn serve` opens up to {wanted} of {facts.usable_connections}"
    if wanted > facts.usable_connections:
        return Finding(
            "connections", "fail", found, "Lower CAIRN_POOL_SIZE or CAIRN_API_WORKERS, or raise max_connections."
        )
    return Finding("connections", "ok", found)


def tokenizer(settings: Settings) -> Finding:
    try:
        sample = build_token_counter(settings.tokenizer)("Hello, 世界")
        return Finding("tokenizer", "ok", f"{describe_tokenizer(settings.tokenizer)}; a sample has {sample} tokens")
    except AppError as error:
        return Finding("tokenizer", "fail", settings.tokenizer, error.message)


def provider(settings: Settings) -> Finding:
    """Judge whether the model service answers; asks it for its list of models, which costs nothing."""
    if settings.model_name is None:
        return Finding("provider", "ok", "extractive: rules, no model", "For a real model set CAIRN_MODEL_NAME.")
    if settings.model_base_url is None:
        return Finding("provider", "ok", f"{settings.model_name}, at the default address")
    key = settings.model_api_key.get_secret_value() if settings.model_api_key else ""
    url = f"{settings.model_base_url.rstrip('/')}/models"
    try:
        reply = httpx.get(url, headers={"Authorization": f"Bearer {key}"}, timeout=MODEL_SECONDS)
    except httpx.HTTPError as error:
        return Finding("provider", "fail", f"{url}: {error}", "Check CAIRN_MODEL_BASE_URL and the network.")
    if reply.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
        return Finding("provider", "fail", f"{url} refuses the key", "Check CAIRN_MODEL_API_KEY.")
    if reply.is_error:
        return Finding("provider", "warn", f"{url} answers {reply.status_code}", "It may still answer questions.")
    return Finding("provider", "ok", f"{settings.model_name} at {settings.model_base_url}")


def recounts(faults: list[Fault]) -> list[Finding]:
    if not faults:
        return [Finding("recount", "ok", "every counter equals its rows")]
    return [
        Finding(
            "recount", "fail", f"account {f.account_id}, session {f.session_id}: {f.fault}", "Report this as a bug."
        )
        for f in faults
    ]
