"""`cairn demo`: see in half a minute what Cairn does with a conversation."""

import secrets
from typing import Annotated, Any

import typer
from rich.markdown import Markdown
from rich.panel import Panel
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from app.cli.api_client import ApiClient, connected
from app.cli.demo_conversation import MONDAY, TUESDAY, Message
from app.cli.terminal import failures_in_words, load_settings, out
from app.domain.errors import Unavailable

KEPT_LIVE = 3


def demo(
    url: Annotated[str | None, typer.Option(help="Server to talk to; default: the one that runs here.")] = None,
    key: Annotated[str | None, typer.Option(envvar="CAIRN_API_KEY", help="API key, where the server asks.")] = None,
) -> None:
    """Play a small conversation: messages, two commits, and the memory that comes out.

    Talks HTTP to the server that runs on this home, or starts one for the moment.

    Example:  cairn demo
    """
    with failures_in_words():
        settings = load_settings()
        with connected(settings, url, key) as client:
            session_id = f"demo-{secrets.token_hex(4)}"
            out.print(f"Server {client.url}, session [bold]{session_id}[/]")
            _play(client, session_id, "Monday", MONDAY, keep_recent_count=0)
            _play(client, session_id, "Tuesday", TUESDAY, keep_recent_count=KEPT_LIVE)
            _show(client.context(session_id))


def _play(
    client: ApiClient, session_id: str, day: str, messages: tuple[Message, ...], *, keep_recent_count: int
) -> None:
    reply = client.add_messages(session_id, list(messages))
    out.print(f"{day}: {len(messages)} messages added, {reply['pending_tokens']} tokens could be archived.")
    commit = client.commit(session_id, keep_recent_count)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=out, transient=True) as progress:
        progress.add_task("The worker updates the working memory")
        task = client.wait_for_task(commit["task_id"], progress.refresh)
    if task["status"] != "completed":
        raise Unavailable(f"The commit ended {task['status']}: {task.get('error') or 'no reason given'}")
    out.print(f"{day}: committed, {keep_recent_count} messages stay live.")


def _show(context: dict[str, Any]) -> None:
    out.print(Panel(Markdown(context["latest_archive_overview"]), title="Working memory"))
    live = "\n".join(f"{message['role']}: {_text(message)}" for message in context["messages"])
    out.print(Panel(live.replace("[", "\\["), title=f"Then {len(context['messages'])} live messages"))
    out.print(f"This context has {context['estimatedTokens']} tokens.")


def _text(message: dict[str, Any]) -> str:
    parts = message.get("parts") or []
    return " ".join(part.get("text") or part.get("tool_output") or "" for part in parts) or message.get("content", "")
