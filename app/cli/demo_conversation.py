"""The conversation that `cairn demo` plays: two people-sized days of work, one of them partly in Chinese."""

from typing import Any, Final

Message = dict[str, Any]


def _say(role: str, text: str) -> Message:
    return {"role": role, "content": text}


def _ran(tool_id: str, command: str, output: str) -> Message:
    part = {
        "type": "tool",
        "tool_id": tool_id,
        "tool_name": "shell",
        "tool_input": {"command": command},
        "tool_output": output,
        "tool_status": "completed",
    }
    return {"role": "assistant", "parts": [part]}


MONDAY: Final[tuple[Message, ...]] = (
    _say(
        "user",
        "Please move the ferry timetable service to PostgreSQL. The code is in src/timetable/store.py; "
        "we go live on 2026-12-14.",
    ),
    _say(
        "assistant",
        "I will start with the schema in db/schema.sql and keep the file format readable for one release. "
        "Which time zone do the departures use?",
    ),
    _say("user", "Europe/Oslo, always. And I prefer plain SQL over an ORM, please remember that."),
    _ran("call_1", "pytest tests/test_store.py", "2 failed, 11 passed\nE  ValueError: time zone missing in row 7"),
    _say(
        "assistant",
        "Two tests fail: row 7 of fixtures/harbour.csv has no time zone. I decided to reject such rows instead of "
        "guessing one.",
    ),
    _say("user", "Good. The harbour office sends that file every night at 02:30; their contact is Ingrid Solheim."),
    _say("assistant", "Noted. Rejected rows go to import_errors, so Ingrid can see which lines to correct."),
    _say("user", "TODO: someone has to tell the harbour office before we go live."),
)

TUESDAY: Final[tuple[Message, ...]] = (
    _say("user", "今天我们继续。请把 README 的中文部分也更新，部署步骤写在 docs/deploy.zh.md。"),
    _say("assistant", "好的。部署步骤我写成五步，其中包括数据库迁移。端口用 5433，因为 5432 已经被旧系统占用。"),
    _say("user", "不对，旧系统上周已经下线了，端口请用 5432。"),
    _say("assistant", "明白，已改为 5432，并更新了 docs/deploy.zh.md 和 config/production.toml。"),
    _ran("call_2", "pytest", "13 passed in 0.84s"),
    _say("assistant", "All 13 tests pass now. The import of last night took 41 seconds for 18,200 departures."),
    _say("user", "Great. I like short status mails: three lines, no attachments."),
    _say("assistant", "Understood. Next step: the rehearsal on the staging machine on 2026-12-08."),
)
