"""Session directories in the layout of OpenViking, written by hand."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from app.domain.working_memory.sections import SECTIONS

FRONT_MATTER = "---\ndirectory: viking://user/ann/sessions/talk/history/archive_001\ngenerated_by: test\n---\n\n"
OVERVIEW = "# Working Memory\n\n" + "\n\n".join(f"## {section}\n- about {section}" for section in SECTIONS)
LEGACY = "# Session Summary\n\n**One-sentence overview**: We move the tide tables.\n\n- Ana decided on PostgreSQL"


def message(text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {
        "id": f"msg_{uuid4().hex}",
        "role": role,
        "parts": [{"type": "text", "text": text}],
        "created_at": "2026-05-06T07:08:09.123456+00:00",
        **more,
    }


def write_session(
    folder: Path,
    archives: Sequence[tuple[Sequence[Mapping[str, Any]], Mapping[str, str]]] = (),
    live: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Write a session; an archive is its messages and its other files by name."""
    folder.mkdir(parents=True)
    (folder / "messages.jsonl").write_text(_jsonl(live), encoding="utf-8")
    for number, (messages, files) in enumerate(archives, start=1):
        archive = folder / "history" / f"archive_{number:03d}"
        archive.mkdir(parents=True)
        (archive / "messages.jsonl").write_text(_jsonl(messages), encoding="utf-8")
        for name, text in files.items():
            (archive / name).write_text(text, encoding="utf-8")
    return folder


def done(overview: str = OVERVIEW) -> dict[str, str]:
    return {".overview.md": FRONT_MATTER + overview, ".abstract.md": "the abstract", ".done": "{}"}


FAILED = {".failed.json": json.dumps({"stage": "memory_extraction", "error": "429"})}


def _jsonl(messages: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in messages)
