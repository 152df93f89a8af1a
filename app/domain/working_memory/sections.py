"""The seven sections of a working memory, in the order they are shown."""

import re
import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeAlias


class Section(StrEnum):
    """A section by its canonical name, the one that is always written."""

    SESSION_TITLE = "Session Title"
    CURRENT_STATE = "Current State"
    TASK_AND_GOALS = "Task & Goals"
    KEY_FACTS = "Key Facts & Decisions"
    FILES_AND_CONTEXT = "Files & Context"
    ERRORS_AND_CORRECTIONS = "Errors & Corrections"
    OPEN_ISSUES = "Open Issues"

    @property
    def number(self) -> int:
        """Return the position in the document, 1 to 7; the key under which rows keep it."""
        return SECTIONS.index(self) + 1


SECTIONS: Final[tuple[Section, ...]] = tuple(Section)

Bodies: TypeAlias = Mapping[Section, str]
"""The text of each section, without its header. A missing section is an empty one."""


def _folded(name: str) -> str:
    words = re.sub(r"&|\band\b", " ", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(words.split())


_BY_FOLDED_NAME: Final[Mapping[str, Section]] = {_folded(section.value): section for section in SECTIONS}


def find_section(name: str) -> Section | None:
    """Return the section people mean: any case and spacing, with '&', with 'and' or with neither."""
    return _BY_FOLDED_NAME.get(_folded(name))
