"""A session directory of OpenViking as the lines of an export.

    messages.jsonl                 the live messages, one JSON object per line
    history/archive_NNN/
        messages.jsonl             what was archived
        .overview.md, .abstract.md texts of the finished update, with or without a block of front matter
        .done | .failed.json       how it ended; neither: it has not
    tool-results/ID/output.txt     outputs too large for their message
    .meta.json                     counters and policies of the session

The whole directory is read and checked before the first line is written.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from app.cli.json_lines import object_of, whole_text
from app.domain.errors import InvalidInput
from app.domain.sessions import MAX_KEEP_RECENT
from app.domain.transfer import FORMAT, VERSION
from app.domain.working_memory.document import has_sections, parse_document
from app.domain.working_memory.sections import SECTIONS

LIVE: Final = "messages.jsonl"
HISTORY: Final = "history"
PLACE: Final = " place"
"""Under this name a message that was read carries its file and line; no field of a message is called so."""

_ARCHIVE: Final = re.compile(r"archive_(\d+)", re.ASCII)
_FRONT_MATTER: Final = re.compile(r"\A\ufeff?---[ \t]*\r?\n.*?^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_ROLES: Final = frozenset({"user", "assistant", "system", "tool"})
_ID: Final = re.compile(r"msg_[0-9a-f]{32}", re.ASCII)
_KEPT: Final = ("peer_id", "turn_id", "message_kind", "source_message_ids", "created_at")
_LONGEST_ABSTRACT: Final = 1000
_SHOWN_FAULTS: Final = 10


@dataclass(frozen=True, slots=True)
class OldArchive:
    """One archive directory: its messages, what it came to, and its overview without front matter."""

    folder: str
    messages: Sequence[dict[str, Any]]
    state: str
    overview: str
    abstract: str


@dataclass(slots=True)
class OldSession:
    """One session directory, read and checked. dropped counts messages that stood in a second place as well."""

    name: str
    archives: list[OldArchive]
    live: Sequence[dict[str, Any]]
    meta: dict[str, Any]
    outputs: Sequence[tuple[str, Path]]
    dropped: int = 0

    @property
    def said(self) -> list[dict[str, Any]]:
        """Return all messages in order."""
        return [message for archive in self.archives for message in archive.messages] + list(self.live)

    def place_of(self, line: object) -> str | None:
        """Return file and line of what became a line of the export: the head is its first, then come the messages."""
        said = self.said
        return said[line - 2][PLACE] if isinstance(line, int) and 2 <= line < len(said) + 2 else None


@dataclass(slots=True)
class _Reader:
    faults: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    dropped: int = 0

    def messages(self, file: Path, shown: str) -> list[dict[str, Any]]:
        """Return the messages of a file that did not stand in an earlier one: a crash leaves some in two places."""
        found = []
        for number, raw in enumerate(file.read_bytes().split(b"\n"), start=1):
            if not raw.strip():
                continue
            try:
                message = _message(raw, number)
            except InvalidInput as error:
                self.faults.append(f"{shown}, line {number}: {error.message}")
                continue
            known = message.get("id")
            if known in self.seen:
                self.dropped += 1
                continue
            if known is not None:
                self.seen.add(known)
            found.append({**message, PLACE: f"{shown}, line {number}"})
        return found

    def text(self, file: Path, shown: str) -> str:
        """Return the text of a file, "" where there is none. PostgreSQL keeps no NUL, so U+FFFD stands for it."""
        if not file.is_file():
            return ""
        try:
            return whole_text(file.read_bytes()).replace("\x00", "\ufffd")
        except InvalidInput as error:
            self.faults.append(f"{shown}, {error.message}")
            return ""

    def outputs(self, root: Path) -> list[tuple[str, Path]]:
        """Return names and files of the large outputs, whose text is read again when it is sent."""
        found = sorted((root / "tool-results").glob("*/output.txt"))
        for file in found:
            self.text(file, str(file.relative_to(root)))
        return [(file.parent.name, file) for file in found]


def session_folders(folder: Path) -> list[Path]:
    """Return the session directories in a folder: itself, its children, or those of its `sessions`."""
    if is_session(folder):
        return [folder]
    for parent in (folder, folder / "sessions"):
        if parent.is_dir() and (found := sorted(child for child in parent.iterdir() if is_session(child))):
            return found
    return []


def is_session(folder: Path) -> bool:
    return folder.is_dir() and ((folder / LIVE).is_file() or (folder / HISTORY).is_dir())


def read_session(folder: Path) -> OldSession:
    """Return a session. Raises: InvalidInput naming file and line of everything that is wrong, at most ten of them."""
    reader = _Reader()
    history = folder / HISTORY
    numbered = sorted(
        (int(match[1]), child)
        for child in (history.iterdir() if history.is_dir() else ())
        if child.is_dir() and (match := _ARCHIVE.fullmatch(child.name))
    )
    archives = [archive for _, child in numbered if (archive := _archive(reader, folder, child)) is not None]
    live = reader.messages(folder / LIVE, LIVE) if (folder / LIVE).is_file() else []
    outputs = reader.outputs(folder)
    if reader.faults:
        more = f"\n  and {len(reader.faults) - _SHOWN_FAULTS} more" if len(reader.faults) > _SHOWN_FAULTS else ""
        raise InvalidInput(f"{folder} was not imported:\n  " + "\n  ".join(reader.faults[:_SHOWN_FAULTS]) + more)
    return OldSession(folder.name, archives, live, _meta(folder / ".meta.json"), outputs, reader.dropped)


def _meta(file: Path) -> dict[str, Any]:
    """Return what is worth keeping of the metadata; counters are counted anew, so a broken file costs little."""
    try:
        said = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(said, dict):
        return {}
    keep, policy = said.get("keep_recent_count"), said.get("memory_policy")
    return {
        "keep_recent_count": keep if isinstance(keep, int) and 0 <= keep <= MAX_KEEP_RECENT else 0,
        "memory_policy": policy if isinstance(policy, dict) else None,
    }


def _archive(reader: _Reader, root: Path, folder: Path) -> OldArchive | None:
    file = folder / LIVE
    shown = str(file.relative_to(root))
    messages = reader.messages(file, shown) if file.is_file() else []
    overview, abstract = (_text(reader, root, folder / name) for name in (".overview.md", ".abstract.md"))
    if not messages:
        if overview:
            reader.faults.append(f"{shown}: the archive has an overview and no messages of its own")
        return None
    return OldArchive(folder.name, messages, _state(folder, overview), overview, abstract)


def _state(folder: Path, overview: str) -> str:
    """Return what the working memory of an archive came to; `.done` wins where both are there."""
    if (folder / ".done").exists():
        return "applied" if overview else _without_overview(folder / ".done")
    return "failed" if (folder / ".failed.json").exists() else "open"


def _without_overview(done: Path) -> str:
    """Finished without an overview: it was not asked for, or the update failed in silence."""
    try:
        said = json.loads(done.read_bytes() or b"{}")
    except ValueError:
        said = {}
    enabled = said.get("working_memory_enabled", True) if isinstance(said, dict) else True
    return "failed" if enabled else "off"


def _text(reader: _Reader, root: Path, file: Path) -> str:
    return _FRONT_MATTER.sub("", reader.text(file, str(file.relative_to(root))), count=1).strip()


def _message(raw: bytes, number: int) -> dict[str, Any]:
    message = object_of(raw, number)
    if message.get("role") not in _ROLES:
        raise InvalidInput(f"role must be one of {', '.join(sorted(_ROLES))}")
    parts = message.get("parts")
    if parts is None and isinstance(message.get("content"), str):
        parts = [{"type": "text", "text": message["content"]}]
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise InvalidInput("parts must be a list of objects")
    known = {"role": message["role"], "parts": parts}
    if isinstance(message.get("id"), str):
        known["id"] = message["id"]
    return known | {name: message[name] for name in _KEPT if message.get(name) is not None}


def lines_of(session: OldSession) -> Iterator[dict[str, Any]]:
    """Yield the lines of the export that this session would be."""
    said = session.said
    times = [message["created_at"] for message in said if "created_at" in message]
    now = datetime.now(UTC).isoformat()
    counts = {"messages": len(said), "archives": len(session.archives)}
    yield {
        "type": "session",
        "format": FORMAT,
        "version": VERSION,
        "session_id": session.name,
        "created_at": times[0] if times else now,
        "last_message_at": times[-1] if times else None,
        **session.meta,
        **counts,
    }
    for seq, message in enumerate(said, start=1):
        foreign = "id" in message and not _ID.fullmatch(message["id"])
        left_out = {PLACE, "id"} if foreign else {PLACE}
        yield {"type": "message", "seq": seq, **{n: v for n, v in message.items() if n not in left_out}}
    first = 1
    for number, archive in enumerate(session.archives, start=1):
        yield from _archive_lines(number, first, archive, now)
        first += len(archive.messages)
    yield from _output_lines(session, said, now)
    yield {"type": "end", **counts}


def _output_lines(session: OldSession, said: Sequence[dict[str, Any]], now: str) -> Iterator[dict[str, Any]]:
    """Yield the large outputs whose messages are there; the newest message of a tool call holds its result."""
    places = {
        part["tool_id"]: (seq, part)
        for seq, message in enumerate(said, start=1)
        for part in message["parts"]
        if part.get("type") == "tool" and isinstance(part.get("tool_id"), str)
    }
    for name, file in session.outputs:
        tool_id = name.removeprefix("tr_").rpartition("_")[0]
        if tool_id not in places:
            continue
        seq, part = places[tool_id]
        preview = part.get("tool_output")
        yield {
            "type": "tool_result",
            "tool_result_id": name,
            "seq": seq,
            "tool_id": tool_id,
            "tool_name": part.get("tool_name"),
            "content": whole_text(file.read_bytes()).replace("\x00", "\ufffd"),
            "preview_chars": len(preview) if isinstance(preview, str) else 0,
            "created_at": said[seq - 1].get("created_at", now),
        }


def _archive_lines(number: int, first: int, archive: OldArchive, now: str) -> Iterator[dict[str, Any]]:
    at = next((m["created_at"] for m in reversed(archive.messages) if "created_at" in m), now)
    sections = archive.state == "applied" and has_sections(archive.overview)
    yield {
        "type": "archive",
        "archive_no": number,
        "first_seq": first,
        "last_seq": first + len(archive.messages) - 1,
        "working_memory": archive.state,
        "abstract": archive.abstract[:_LONGEST_ABSTRACT],
        "created_at": at,
        "finished_at": None if archive.state == "open" else at,
        "document_source": "import" if archive.state == "applied" else None,
        "legacy_overview": archive.overview if archive.state == "applied" and not sections else None,
    }
    if sections:
        bodies = parse_document(archive.overview)
        yield {
            "type": "document",
            "archive_no": number,
            "sections": [{"section": section.value, "body": bodies.get(section, "")} for section in SECTIONS],
        }
