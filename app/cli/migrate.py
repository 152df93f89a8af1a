"""`cairn migrate`: bring the database to this release."""

from typing import Annotated

import typer

from app.cli.database import migrate as bring_to_head
from app.cli.database import open_database, prepare
from app.cli.terminal import failures_in_words, load_settings, out
from app.observability import configure_logging


def migrate(
    make_roles: Annotated[
        bool,
        typer.Option(
            "--create-roles",
            help="First make the roles, and the login that CAIRN_DATABASE_URL names (once per cluster).",
        ),
    ] = False,
) -> None:
    """Create or update the tables. `cairn serve` does it too; run it alone where many servers start at once.

    Uses CAIRN_DATABASE_OWNER_URL, else CAIRN_DATABASE_DIRECT_URL, else CAIRN_DATABASE_URL, else the embedded server.

    Example:  CAIRN_DATABASE_OWNER_URL=postgresql://postgres:…@db/cairn cairn migrate --create-roles
    """
    with failures_in_words():
        settings = load_settings()
        configure_logging(settings.log_level, as_json=settings.log_json)
        with open_database(settings) as database:
            if make_roles:
                prepare(database)
            revision = bring_to_head(database)
        out.print(f"The database is at revision {revision}: {database.shown}.")
