"""A long conversation of dated sessions, played through HTTP; what came of it is recounted message by message.

python -m tests.support.dated_conversation URL FILE     against a server that runs
"""

import json
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from app.domain.working_memory.document import parse_document
from app.domain.working_memory.sections import SECTIONS
from app.providers.tokenizer import build_token_counter

KEEP = 4
FINAL = frozenset({"completed", "failed", "cancelled"})
TASK_SECONDS = 60.0


@dataclass(frozen=True)
class Said:
    """One message of the file."""

    role: str
    speaker: str
    text: str
    at: str


@dataclass
class Played:
    """What the server was told and what it answered, and every difference from a recount."""

    session: str
    seconds: float = 0.0
    differences: list[str] = field(default_factory=list)
    archives: list[dict[str, Any]] = field(default_factory=list)
    archived: list[str] = field(default_factory=list)
    live: list[str] = field(default_factory=list)
    sections: int = 0

    @property
    def figures(self) -> str:
        return (
            f"{len(self.archived)} messages in {len(self.archives)} archives and {len(self.live)} live, "
            f"{self.sections} sections, {len(self.differences)} differences, {self.seconds:.1f} s"
        )


def read_sessions(path: Path) -> list[list[Said]]:
    """Return the dated sessions of a file, each a list of messages; the first speaker is the user."""
    data = json.loads(path.read_text(encoding="utf-8"))
    return list(_sessions(data))


def _sessions(data: dict[str, Any]) -> Iterator[list[Said]]:
    for number in count(1):
        messages = data.get(f"session_{number}")
        if not messages:
            return
        at = datetime.strptime(data[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").isoformat() + "Z"  # noqa: DTZ007
        yield [
            Said("user" if m["speaker"] == data["speaker_a"] else "assistant", m["speaker"], _text(m), at)
            for m in messages
        ]


def _text(message: dict[str, Any]) -> str:
    shared = f" [shares {message['blip_caption']}]" if message.get("blip_caption") else ""
    return f"{message['text']}{shared}"


class Player:
    """Plays a conversation into one session and recounts pending_tokens after every step."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=60, trust_env=False)
        self._count = build_token_counter("o200k_base")
        self._tokens: list[int] = []
        self._sealed = 0
        self._keep = 0
        self.played = Played(f"dated-{secrets.token_hex(6)}")

    def close(self) -> None:
        self._http.close()

    def play(self, sessions: list[list[Said]]) -> Played:
        """Add every session, half of it message by message and half in one batch, and commit after it."""
        began = time.monotonic()
        tasks = []
        for messages in sessions:
            half = len(messages) // 2
            for message in messages[:half]:
                self._add("messages", _body(message), [message])
            self._add("messages/batch", {"messages": [_body(m) for m in messages[half:]]}, messages[half:])
            tasks.append(self._commit())
        for task in tasks:
            self._wait(task)
        self.played.seconds = time.monotonic() - began
        self._read_back()
        return self.played

    def _add(self, path: str, body: dict[str, Any], messages: list[Said]) -> None:
        reply = self._call("POST", f"{self._path}/{path}", json=body)
        self._tokens += [self._count(message.text) for message in messages]
        self._compare(path, reply["pending_tokens"], reply["message_count"])

    def _commit(self) -> str:
        reply = self._call("POST", f"{self._path}/commit", json={"keep_recent_count": KEEP})
        self._keep, self._sealed = KEEP, len(self._tokens) - KEEP
        session = self._call("GET", self._path)
        self._compare("commit", session["pending_tokens"], session["message_count"])
        return str(reply["task_id"])

    def _compare(self, step: str, pending: int, live: int) -> None:
        expected = sum(self._tokens[self._sealed : max(self._sealed, len(self._tokens) - self._keep)])
        if (pending, live) != (expected, len(self._tokens) - self._sealed):
            self.played.differences.append(f"message {len(self._tokens)}, {step}: {pending} pending, not {expected}")

    def _wait(self, task_id: str) -> None:
        deadline = time.monotonic() + TASK_SECONDS
        while (task := self._call("GET", f"/api/v1/tasks/{task_id}"))["status"] not in FINAL:
            if time.monotonic() > deadline:
                raise TimeoutError(f"task {task_id} is still {task['status']}")
            time.sleep(0.05)

    def _read_back(self) -> None:
        self.played.archives = self._call("GET", f"{self._path}/archives")
        for archive in self.played.archives:
            full = self._call("GET", f"{self._path}/archives/{archive['archive_id']}")
            self.played.archived += [_shown(message) for message in full["messages"]]
        context = self._call("GET", f"{self._path}/context")
        self.played.live = [_shown(message) for message in context["messages"]]
        bodies = parse_document(context["latest_archive_overview"])
        self.played.sections = sum(section in bodies for section in SECTIONS)

    @property
    def _path(self) -> str:
        return f"/api/v1/sessions/{self.played.session}"

    def _call(self, method: str, path: str, **options: Any) -> Any:
        reply = self._http.request(method, path, **options)
        reply.raise_for_status()
        return reply.json()["result"]


def _body(message: Said) -> dict[str, Any]:
    return {"role": message.role, "content": message.text, "peer_id": message.speaker, "created_at": message.at}


def _shown(message: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in message["parts"])


if __name__ == "__main__":
    with closing(Player(sys.argv[1])) as player:
        print(player.play(read_sessions(Path(sys.argv[2]))).figures)
