"""What a model is given to read: the messages as text, and the prompt made of them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpokenMessage:
    """A message as a model reads it: who, when, and the text that stands for all its parts."""

    seq: int
    role: str
    speaker: str | None
    said_at: str
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """Rendered text, with the digest of the templates it came from."""

    system: str
    user: str
    digest: str
