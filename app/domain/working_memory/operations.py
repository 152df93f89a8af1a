"""What a model may ask for one section."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from app.domain.working_memory.sections import Section


@dataclass(frozen=True, slots=True)
class Keep:
    """Leave the section as it is, byte for byte."""

    name: str = "KEEP"


@dataclass(frozen=True, slots=True)
class Update:
    """Replace the whole body. The guards decide what that may lose."""

    content: str
    name: str = "UPDATE"


@dataclass(frozen=True, slots=True)
class Append:
    """Add items below the body, one bullet each."""

    items: tuple[str, ...]
    name: str = "APPEND"


SectionOp: TypeAlias = Keep | Update | Append
SectionOps: TypeAlias = Mapping[Section, SectionOp]
KEEP: Final = Keep()
