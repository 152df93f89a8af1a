"""`cairn wm …`: the rules of the working memory, tried out on data from standard input. No database, no server."""

import json
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from app.cli.terminal import failures_in_words, load_settings
from app.domain.working_memory.dry_run import dry_merge, dry_parse, dry_recover
from app.providers.tokenizer import build_token_counter

working_memory = typer.Typer(
    help="Try the rules of the working memory on JSON lines: one record in, one record out.\n\n"
    "Example:  cairn wm parse < documents.jsonl",
    no_args_is_help=True,
)
TokenizerOption = Annotated[
    str | None, typer.Option(help="Encoding or model that tokens are counted by.", show_default="o200k_base")
]


@working_memory.command()
def merge(tokenizer: TokenizerOption = None) -> None:
    """Merge the answer of a model into a document, and say what the guards decided.

    In: {"id", "document", "sections", "deferred"?}. Out: {"id", "document", "decisions", "deferred"}.

    Example:  echo '{"id": 1, "document": "", "sections": {}}' | cairn wm merge
    """
    with failures_in_words():
        count_tokens = build_token_counter(load_settings(tokenizer=tokenizer).tokenizer)
        _for_each_line(lambda record: dry_merge(record, count_tokens))


@working_memory.command()
def recover() -> None:
    """Read section operations out of a broken answer of a model.

    In: {"id", "raw"}. Out: {"id", "sections"}.

    Example:  echo '{"id": 1, "raw": "{\\"Current State\\": {\\"op\\": \\"KEEP\\"}"}' | cairn wm recover
    """
    with failures_in_words():
        _for_each_line(dry_recover)


@working_memory.command()
def parse(tokenizer: TokenizerOption = None) -> None:
    """Split a document into its seven sections and their items, with warnings for those that are too large.

    In: {"id", "document"}. Out: {"id", "sections", "items", "warnings"}.

    Example:  echo '{"id": 1, "document": "## Current State\\n- it works"}' | cairn wm parse
    """
    with failures_in_words():
        count_tokens = build_token_counter(load_settings(tokenizer=tokenizer).tokenizer)
        _for_each_line(lambda record: dry_parse(record, count_tokens))


def _for_each_line(answer: Callable[[object], dict[str, object]]) -> None:
    """Write one line for each line that is not empty, at once, so that a program can talk with the command."""
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        try:
            reply = answer(json.loads(line))
        except (ValueError, RecursionError) as error:
            reply = {"id": None, "error": f"this is not JSON: {error}"}
        sys.stdout.buffer.write(_encoded(reply) + b"\n")
        sys.stdout.buffer.flush()


def _encoded(reply: dict[str, object]) -> bytes:
    try:
        return json.dumps(reply, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can carry
        return json.dumps(reply).encode()
