"""`cairn doctor`: what is there, what is missing, what to do."""

from typing import Annotated

import psycopg
import typer
from rich.table import Table
from rich.text import Text

from app.cli import checks
from app.cli.checks import Finding
from app.cli.database import Addresses, open_database
from app.cli.terminal import FAILED, database_words, failures_in_words, load_settings, out
from app.domain.errors import AppError
from app.observability import configure_logging
from app.settings import Settings
from app.storage.inspection import inspect, recount

STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(
    deep: Annotated[
        bool, typer.Option("--deep", help="Also rebuild every counter from its rows; reads all messages.")
    ] = False,
) -> None:
    """Check database, migrations, extensions, roles, tokenizer and provider, and say what to do.

    Exits with 1 when something fails; warnings do not count. Attaches to the PostgreSQL of a running server, or starts
    it for the moment.

    Example:  cairn doctor --deep
    """
    with failures_in_words():
        settings = load_settings()
        configure_logging("warning", as_json=settings.log_json)
        findings = [*_database(settings, deep=deep), checks.tokenizer(settings), checks.provider(settings)]
        _print(findings)
    failed = sum(finding.verdict == "fail" for finding in findings)
    if failed:
        out.print(f"{failed} of {len(findings)} checks failed.")
        raise typer.Exit(FAILED)
    out.print("Nothing is wrong.")


def _database(settings: Settings, *, deep: bool) -> list[Finding]:
    try:
        with open_database(settings) as addresses:
            findings = checks.database_findings(settings, addresses, inspect(addresses.app_url))
            migrated = all(finding.verdict != "fail" for finding in findings if finding.subject == "migrations")
            if deep and migrated:
                findings.extend(_recount(addresses))
            return findings
    except psycopg.OperationalError as error:
        return [
            Finding("database", "fail", database_words(error), "Check CAIRN_DATABASE_URL, and that the server runs.")
        ]
    except AppError as error:
        return [Finding("database", "fail", "not there", error.message)]


def _recount(addresses: Addresses) -> list[Finding]:
    try:
        return checks.recounts(recount(addresses.owner_url))
    except psycopg.errors.InsufficientPrivilege:
        return [Finding("recount", "warn", "not possible with this login", "Set CAIRN_DATABASE_OWNER_URL.")]


def _print(findings: list[Finding]) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("", "what", "found", "what to do"):
        table.add_column(heading, overflow="fold")
    for finding in findings:
        table.add_row(
            Text(finding.verdict, style=STYLES[finding.verdict]),
            *(Text(text) for text in (finding.subject, finding.found, finding.advice)),
        )
    out.print(table)
