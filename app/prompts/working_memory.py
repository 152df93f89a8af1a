"""The two questions about a working memory: write the first one, bring the last one up to date."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, Protocol

from app.domain.prompts import Prompt, SpokenMessage
from app.domain.working_memory.sections import SECTIONS, Bodies, Section
from app.prompts.templates import render

SECTION_TOKENS: Final = 2_000
DOCUMENT_TOKENS: Final = 12_000
TARGET_BULLETS: Final = 25
TARGET_TOKENS: Final = 1_500

_BUDGETS: Final[Mapping[str, object]] = {"section_tokens": SECTION_TOKENS, "document_tokens": DOCUMENT_TOKENS}


class SectionSize(Protocol):
    """How large a section is: its items, and its tokens by the configured counter."""

    @property
    def bullets(self) -> int: ...

    @property
    def tokens(self) -> int: ...


def render_creation(messages: Iterable[SpokenMessage], *, tool_name: str, earlier_document: str = "") -> Prompt:
    """Return the prompt that asks for all seven sections.

    earlier_document is text to carry over: a working memory whose update failed, or one of an older form.
    """
    return render(
        "creation",
        {
            **_BUDGETS,
            "tool_name": tool_name,
            "messages": list(messages),
            "earlier_document": earlier_document,
        },
    )


def render_update(
    document: Bodies,
    messages: Iterable[SpokenMessage],
    *,
    tool_name: str,
    sizes: Mapping[Section, SectionSize],
    oversized: Collection[Section] = (),
    deferred: Iterable[str] = (),
) -> Prompt:
    """Return the prompt that asks for one operation per section.

    sizes has an entry for every section; oversized are those that the model is asked to shrink; deferred are facts
    that earlier updates could not admit.
    """
    sections = [
        {
            "name": section.value,
            "body": document.get(section, ""),
            "bullets": sizes[section].bullets,
            "tokens": sizes[section].tokens,
        }
        for section in SECTIONS
    ]
    return render(
        "update",
        {
            **_BUDGETS,
            "target_bullets": TARGET_BULLETS,
            "target_tokens": TARGET_TOKENS,
            "tool_name": tool_name,
            "sections": sections,
            "oversized": [section for section in sections if section["name"] in {name.value for name in oversized}],
            "deferred": list(deferred),
            "messages": list(messages),
        },
    )
