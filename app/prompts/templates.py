"""The templates beside this file, rendered strictly: a variable nobody gave is an error, not an empty string."""

import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Final

from jinja2 import Environment, FunctionLoader, StrictUndefined

from app.domain.prompts import Prompt, SpokenMessage

_OUR_TAGS: Final = re.compile(
    r"<(?=\s*/?\s*(?:conversation|working_memory|section_size_warnings|deferred_facts)\s*>)", re.IGNORECASE
)
_INDENT: Final = "    "


def render(name: str, variables: dict[str, object]) -> Prompt:
    """Return the prompt made of `<name>_system.md` and `<name>_user.md`, with the digest of all that they include.

    Raises: jinja2.UndefinedError for a variable that a template uses and nobody gave.
    """
    environment = _environment()
    system, user = (environment.get_template(f"{name}_{part}.md").render(variables) for part in ("system", "user"))
    return Prompt(system.strip() + "\n", user.strip() + "\n", digest(name))


@cache
def digest(name: str) -> str:
    """Return the SHA-256 of the sources of a prompt: it changes when, and only when, the wording does."""
    return hashlib.sha256("\0".join(f"{source}\0{_source(source)}" for source in sources(name)).encode()).hexdigest()


def sources(name: str) -> tuple[str, ...]:
    """Return the files a prompt is made of."""
    return (f"{name}_system.md", f"{name}_user.md", "_rules.md", "_conversation.md")


def _source(name: str) -> str:
    return files("app.prompts").joinpath(name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_source),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - a model reads this, and would read &lt; literally
    )
    environment.filters["defused"] = _defused
    environment.filters["inside"] = _inside
    environment.filters["speaker"] = _speaker
    return environment


def _defused(text: str) -> str:
    """Return material in which no line opens or closes one of our own blocks."""
    return _OUR_TAGS.sub("‹", text.strip())


def _inside(text: str) -> str:
    """Return material of one entry of a list: further lines are indented, so that none passes for an entry."""
    return _defused(text).replace("\n", "\n" + _INDENT)


def _speaker(message: SpokenMessage) -> str:
    return f"{message.speaker} ({message.role})" if message.speaker else message.role
