"""`cairn migrate`: bring the database to this release."""

from typing import Annotated

import psycopg
import typer

from app.cli.database import migrate as bring_to_head
from app.cli.database import open_database
from app.cli.terminal import failures_in_words, load_settings, out
from app.domain.errors import Forbidden
from app.observability import configure_logging
from app.storage.roles import create_roles


def migrate(
    make_roles: Annotated[
        bool,
        typer.Option("--create-roles", help="First make the roles that own and use the tables (once per cluster)."),
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
                try:
                    create_roles(database.administrator_url)
                except psycopg.errors.InsufficientPrivilege as error:
                    raise Forbidden(
                        "This login may not make roles. Put a superuser, or a login with CREATEROLE, into "
                        "CAIRN_DATABASE_OWNER_URL and run the command again."
                    ) from error
            revision = bring_to_head(database)
        out.print(f"The database is at revision {revision}: {database.shown}.")
