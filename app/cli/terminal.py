"""What all commands share when they talk to people: settings, colours, and failures without a traceback."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import psycopg
from pydantic import ValidationError
from rich.console import Console

from app.domain.errors import AppError
from app.settings import Settings

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

FAILED = 1
INTERRUPTED = 130


def load_settings(**given: object) -> Settings:
    """Return the settings of the environment, with the options that were given on the command line on top."""
    return Settings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]


@contextmanager
def failures_in_words() -> Iterator[None]:
    """End the process with one readable line for everything that is not a bug of ours."""
    try:
        yield
    except AppError as error:
        fail(error.message)
    except ValidationError as error:
        # Only place and reason: the value may be a key.
        places = [f"CAIRN_{str(problem['loc'][0]).upper()}: {problem['msg']}" for problem in error.errors()]
        fail("These settings do not fit:\n  " + "\n  ".join(places))
    except psycopg.OperationalError as error:
        fail(f"The database cannot be reached: {database_words(error)}")
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(INTERRUPTED)


def fail(message: str) -> NoReturn:
    """Say what is wrong on standard error and end with exit code 1."""
    err.print(f"[bold red]cairn:[/] {_plain(message)}", soft_wrap=True)
    sys.exit(FAILED)


def database_words(error: psycopg.OperationalError) -> str:
    """Return what libpq said in one line: host, port and reason stand in its first lines, a hint in the last."""
    lines = [line.strip() for line in str(error).strip().splitlines()]
    tried = [line.removeprefix("- ") for line in lines if line.startswith("- ")]  # several addresses, one line each
    return " ".join(tried or lines).replace("connection failed: ", "")


def _plain(text: str) -> str:
    return text.replace("[", "\\[")
