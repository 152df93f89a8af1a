"""`cairn import`: bring a conversation from JSON lines, from an export, or from a directory of OpenViking."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from app.cli.api_client import ApiClient, ServerSaid, connected
from app.cli.json_lines import canonical, object_of
from app.cli.terminal import failures_in_words, load_settings, out
from app.cli.transfers import import_directory, import_export, is_export
from app.domain.errors import InvalidInput, Unavailable
from app.domain.messages import MessageRole

BATCH = 100
ROLES: Final = tuple(role.value for role in MessageRole)
LONGEST_TIME: Final = 64
COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())


@dataclass(frozen=True, slots=True)
class Line:
    """One message and where it stands in the file."""

    number: int
    session_id: str
    message: dict[str, Any]


def import_conversation(
    source: Annotated[
        Path, typer.Argument(help="JSON lines, an export of Cairn, or a session directory of OpenViking.", exists=True)
    ],
    session: Annotated[
        str | None, typer.Option(help="Session for lines that name none; new name of an export.")
    ] = None,
    commit: Annotated[bool, typer.Option("--commit", help="Commit every session at the end and wait.")] = False,
    url: Annotated[str | None, typer.Option(help="Server to talk to; default: the one that runs here.")] = None,
    key: Annotated[str | None, typer.Option(envvar="CAIRN_API_KEY", help="API key, where the server asks.")] = None,
) -> None:
    """Add the messages of a file, in order. A second run adds nothing twice, also when lines were mended or added.

    A message is known by its session, what it says, and how often the file said the same before; give lines a
    `client_message_id` of their own to have them known by that.

    An export, and a directory of OpenViking with one session or many, become sessions of their own, each whole or not
    at all; one that is there already is left alone. Otherwise a line is an object with `role`, `content` (text) or
    `parts` (a list), and if you like `created_at` and `session_id`. All of it is read and checked before the first
    message is sent; what the server refuses all the same is named by its line, and what was sent before it stays.

    Example:  cairn import chat.jsonl --session holiday --commit
    """
    with failures_in_words():
        whole = source.is_dir() or is_export(source)
        lines = [] if whole else read_lines(source, session)
        with connected(load_settings(), url, key) as client:
            if source.is_dir():
                names = import_directory(client, source, session)
            elif whole:
                names = import_export(client, source, session)
            else:
                _send(client, lines)
                names = sorted({line.session_id for line in lines})
            if commit:
                _commit(client, names)


def read_lines(file: Path, session: str | None) -> list[Line]:
    """Return the messages of a file. Raises: InvalidInput naming every line that is wrong, at most ten of them."""
    lines: list[Line] = []
    faults: list[str] = []
    told: Counter[str] = Counter()
    for number, raw in enumerate(file.read_bytes().split(b"\n"), start=1):
        if not raw.strip():
            continue
        try:
            lines.append(_read_line(number, raw, session, told))
        except InvalidInput as error:
            faults.append(f"line {number}: {error.message}")
    if faults:
        more = f"\n  and {len(faults) - 10} more" if len(faults) > 10 else ""
        raise InvalidInput(f"{file} was not imported:\n  " + "\n  ".join(faults[:10]) + more)
    if not lines:
        raise InvalidInput(f"{file} holds no messages.")
    return lines


def _read_line(number: int, raw: bytes, session: str | None, told: Counter[str]) -> Line:
    message = object_of(raw, number)
    session_id = message.pop("session_id", None) or session
    if not isinstance(session_id, str):
        raise InvalidInput("no session_id; add one, or give --session")
    _check(message)
    if message.get("client_message_id") is None:
        message.pop("client_message_id", None)
        content = hashlib.sha256(canonical([session_id, message])).hexdigest()[:32]
        told[content] += 1
        message["client_message_id"] = f"import-{content}-{told[content]}"
    return Line(number, session_id, message)


def _check(message: dict[str, Any]) -> None:
    """Raise InvalidInput for what the server would refuse, before anything is sent."""
    if message.get("role") is None:
        raise InvalidInput("role is missing")
    if message["role"] not in ROLES:
        raise InvalidInput(f"role must be one of {', '.join(ROLES)}")
    content, parts = message.get("content"), message.get("parts")
    if (content is None) == (parts is None):
        raise InvalidInput("give either content or parts")
    if content is not None and not isinstance(content, str):
        raise InvalidInput("content must be text; for anything else there are parts")
    if parts is not None and not (isinstance(parts, list) and all(isinstance(part, dict) for part in parts)):
        raise InvalidInput("parts must be a list of objects")
    if message.get("created_at") is not None and not _is_time(message["created_at"]):
        raise InvalidInput("created_at must be an ISO 8601 time such as 2026-11-30T09:30:00Z")


def _is_time(value: object) -> bool:
    if not isinstance(value, str) or len(value) > LONGEST_TIME:
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _send(client: ApiClient, lines: list[Line]) -> None:
    stored = 0
    with Progress(*COLUMNS, console=out) as progress:
        bar = progress.add_task("messages", total=len(lines))
        for batch in batches(lines):
            try:
                client.add_messages(batch[0].session_id, [line.message for line in batch])
            except ServerSaid as error:
                raise InvalidInput(f"{_where(batch, error)}: {error.message}\n{_so_far(stored, lines)}") from error
            except Unavailable as error:
                raise Unavailable(f"{error.message}\n{_so_far(stored, lines)}") from error
            stored += len(batch)
            progress.advance(bar, len(batch))
    out.print(f"{len(lines)} messages are in {len({line.session_id for line in lines})} sessions.")


def _so_far(stored: int, lines: list[Line]) -> str:
    return f"{stored} of {len(lines)} messages are stored already; importing again goes on from there."


def batches(lines: list[Line]) -> Iterator[list[Line]]:
    """Yield runs of at most a hundred messages of one session; within a session the order of the file is kept."""
    waiting: dict[str, list[Line]] = {}
    for line in lines:
        batch = waiting.setdefault(line.session_id, [])
        batch.append(line)
        if len(batch) == BATCH:
            yield waiting.pop(line.session_id)
    yield from waiting.values()


def _where(batch: list[Line], error: ServerSaid) -> str:
    problems = error.details.get("validation_errors")
    for problem in problems if isinstance(problems, list) else []:
        for part in problem.get("loc", []):
            if isinstance(part, int) and part < len(batch):
                return f"line {batch[part].number}"
    return f"lines {batch[0].number} to {batch[-1].number}"


def _commit(client: ApiClient, session_ids: list[str]) -> None:
    tasks = {session_id: client.commit(session_id).get("task_id") for session_id in session_ids}
    failed: list[str] = []
    with Progress(*COLUMNS, console=out) as progress:
        bar = progress.add_task("commits", total=len(tasks))
        for session_id, task_id in tasks.items():
            if task_id is not None and client.wait_for_task(task_id, progress.refresh)["status"] != "completed":
                failed.append(session_id)
            progress.advance(bar)
    if failed:
        raise Unavailable(f"These sessions were imported, but their commit failed: {', '.join(failed)}")
    out.print(f"{len(tasks)} sessions are committed.")
