"""`cairn export`, and what `cairn import` does with whole sessions: an export, or a directory of OpenViking."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final

import typer
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from app.cli.api_client import ApiClient, ServerSaid, connected
from app.cli.openviking import lines_of, read_session, session_folders
from app.cli.terminal import err, failures_in_words, load_settings, out
from app.domain.errors import InvalidInput
from app.domain.transfer import FORMAT

CHUNK_BYTES: Final = 256 * 1024
_SHOWN: Final = 10


def export_session(
    session: Annotated[str, typer.Argument(help="Session to export.")],
    output: Annotated[Path | None, typer.Option(help="File to write; default: standard output.")] = None,
    url: Annotated[str | None, typer.Option(help="Server to talk to; default: the one that runs here.")] = None,
    key: Annotated[str | None, typer.Option(envvar="CAIRN_API_KEY", help="API key, where the server asks.")] = None,
) -> None:
    """Write a whole session as JSON lines: messages, archives, documents, facts that wait.

    A file appears when it is complete; `cairn import` makes the same session of it, here or elsewhere.

    Example:  cairn export berlin --output berlin.jsonl
    """
    with failures_in_words(), connected(load_settings(), url, key) as client:
        if output is None:
            _write(client, session, sys.stdout.buffer)
            return
        unfinished = output.with_name(f".{output.name}.{os.getpid()}")
        try:
            with unfinished.open("wb") as file:
                _write(client, session, file)
            unfinished.replace(output)
        finally:
            unfinished.unlink(missing_ok=True)
        out.print(f"{session} is in {output}.")


def _write(client: ApiClient, session: str, file: BinaryIO) -> None:
    """Copy an export line by line. Raises: InvalidInput when its end is missing."""
    kind, reason = "", "the connection ended"
    with Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=err) as progress:
        bar = progress.add_task("messages", total=None)
        for line in client.export_lines(session):
            record = json.loads(line)
            kind = record["type"]
            if kind == "session":
                progress.update(bar, total=record["messages"])
            elif kind == "message":
                progress.advance(bar)
            elif kind == "broken":
                reason = record["reason"]
                break
            file.write(line + b"\n")
    if kind != "end":
        raise InvalidInput(f"The export of {session} broke off: {reason}")


def is_export(file: Path) -> bool:
    """Tell whether a file is an export of Cairn, by its first line."""
    with file.open("rb") as lines:
        try:
            head = json.loads(lines.readline())
        except (ValueError, RecursionError):
            return False
    return isinstance(head, dict) and head.get("format") == FORMAT


def import_export(client: ApiClient, file: Path, session: str | None) -> list[str]:
    """Bring an export in, under its own name unless another is given; return the names of what was imported."""
    with file.open("rb") as lines:
        head: dict[str, Any] = json.loads(lines.readline())
        lines.seek(0)
        name = session or head.get("session_id") or file.stem
        _send(client, str(name), lines, file.stat().st_size)
    out.print(f"{name} is imported: {head.get('messages')} messages in {head.get('archives')} archives and live.")
    return [str(name)]


def import_directory(client: ApiClient, folder: Path, session: str | None) -> list[str]:
    """Bring the sessions of a directory of OpenViking in, each whole or not at all; return their names.

    One that cannot be read or is there already does not keep the others out.
    Raises: InvalidInput saying which were not imported, and why.
    """
    folders = session_folders(folder)
    if not folders:
        raise InvalidInput(f"{folder} holds no session: neither messages.jsonl nor history was found.")
    if session is not None and len(folders) > 1:
        raise InvalidInput(f"--session names one session, and {folder} holds {len(folders)}.")
    imported, refused = [], []
    for one in folders:
        name = session or one.name
        try:
            _import_folder(client, one, name)
            imported.append(name)
        except (InvalidInput, ServerSaid) as error:
            refused.append(error.message if isinstance(error, InvalidInput) else f"{one}: {error.message}")
    if refused:
        more = f"\nand {len(refused) - _SHOWN} more" if len(refused) > _SHOWN else ""
        raise InvalidInput("\n".join(refused[:_SHOWN]) + more)
    return imported


def _import_folder(client: ApiClient, folder: Path, name: str) -> None:
    session = read_session(folder)
    with tempfile.TemporaryFile() as file:
        for line in lines_of(session):
            file.write(json.dumps(line).encode() + b"\n")
        size = file.tell()
        file.seek(0)
        try:
            _send(client, name, file, size)
        except ServerSaid as error:
            place = session.place_of(error.details.get("line"))
            if place is None:
                raise
            reason = error.message.partition(": ")[2]
            raise InvalidInput(f"{folder} was not imported:\n  {place}: {reason}") from error
    dropped = f"; {session.dropped} stood in two places and are kept once" if session.dropped else ""
    out.print(f"{name} is imported: {len(session.said)} messages, {len(session.archives)} archives{dropped}.")


def _send(client: ApiClient, name: str, file: BinaryIO, size: int) -> None:
    if client.has_session(name):  # a server that refuses does not read the rest of what is sent
        raise InvalidInput(f"Session {name} is there already; delete it, or give another --session.")
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out) as progress:
        bar = progress.add_task(name.replace("[", "\\["), total=size)

        def chunks() -> Iterator[bytes]:
            while chunk := file.read(CHUNK_BYTES):
                progress.advance(bar, len(chunk))
                yield chunk

        client.import_session(name, chunks())
