"""How large the sections are, and which ones a model should be asked to shrink."""

from dataclasses import dataclass
from typing import Final

from app.domain.tokens import TokenCounter
from app.domain.working_memory.items import bullet, read_items
from app.domain.working_memory.references import find_references
from app.domain.working_memory.sections import SECTIONS, Bodies, Section
from app.domain.working_memory.sentinel import without_sentinel

MOST_BULLETS: Final = 25
MOST_TOKENS: Final = 1500


@dataclass(frozen=True, slots=True)
class Size:
    """Bullets and tokens of one section, the sentinel left out."""

    section: Section
    bullets: int
    tokens: int

    @property
    def is_oversized(self) -> bool:
        return self.bullets > MOST_BULLETS or self.tokens > MOST_TOKENS

    @property
    def is_emergency(self) -> bool:
        return self.bullets > 2 * MOST_BULLETS or self.tokens > 2 * MOST_TOKENS


def size_of(section: Section, body: str, count_tokens: TokenCounter) -> Size:
    text = without_sentinel(body)
    return Size(section, sum(item.bullets for item in read_items(text)), count_tokens(text) if text else 0)


def section_sizes(bodies: Bodies, count_tokens: TokenCounter) -> tuple[Size, ...]:
    """Return the size of each of the seven sections."""
    return tuple(size_of(section, bodies.get(section, ""), count_tokens) for section in SECTIONS)


def size_warnings(bodies: Bodies, count_tokens: TokenCounter) -> tuple[Size, ...]:
    """Return the sections that a model should be asked to rewrite, with their sizes.

    Not Errors & Corrections, which may not shrink. In Files & Context bullets with a reference do not count, because
    the guard would refuse what the warning asks for.
    """
    return tuple(
        size
        for size in section_sizes(bodies, count_tokens)
        if size.section is not Section.ERRORS_AND_CORRECTIONS
        and size.is_oversized
        and not _is_full_of_references(size, bodies.get(size.section, ""))
    )


def _is_full_of_references(size: Size, body: str) -> bool:
    if size.section is not Section.FILES_AND_CONTEXT or size.tokens > MOST_TOKENS:
        return False
    free = sum(item.bullets for item in read_items(body) if not find_references(item.text))
    return free <= MOST_BULLETS


@dataclass(frozen=True, slots=True)
class ShortenedSection:
    """The newest items of a section that only grows, for a reader with little room."""

    body: str
    left_out: int


def newest_items(body: str, most: int) -> ShortenedSection:
    """Return the last `most` items as bullets and how many older ones are left out; a short body is unchanged."""
    items = read_items(body)
    if len(items) <= most:
        return ShortenedSection(body, 0)
    kept = items[len(items) - most :]
    return ShortenedSection("\n".join(bullet(item.text) for item in kept), len(items) - most)
