"""The command `cairn`: one file per command, all of them thin."""

from importlib.metadata import version
from typing import Annotated, Final

import typer

from app.cli.demo import demo
from app.cli.doctor import doctor
from app.cli.import_conversation import import_conversation
from app.cli.migrate import migrate
from app.cli.serve import serve
from app.cli.terminal import out
from app.cli.transfers import export_session
from app.cli.worker import worker
from app.cli.working_memory import working_memory

DISTRIBUTION: Final = "cairn-memory-server"

commands = typer.Typer(
    name="cairn",
    help="The memory of AI agents, kept in PostgreSQL.\n\nExample:  cairn serve",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for command in (serve, worker, migrate, doctor, demo):
    commands.command()(command)
commands.command(name="import")(import_conversation)
commands.command(name="export")(export_session)
commands.add_typer(working_memory, name="wm")


def _say_version(asked: bool) -> None:
    if asked:
        out.print(f"cairn {version(DISTRIBUTION)}")
        raise typer.Exit


@commands.callback()
def _before_any_command(
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_say_version, is_eager=True)
    ] = False,
) -> None:
    """Take the options that belong to no command."""


def main() -> None:
    """Run the command line."""
    commands()
