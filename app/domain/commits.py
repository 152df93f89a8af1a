"""What a commit is asked to do, and the tags it gives to what is remembered of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from app.domain.errors import InvalidInput
from app.domain.retention import Retention

_TAG_PARTS: Final = 2


class Trigger(StrEnum):
    """Why a session was committed."""

    REQUEST = "request"
    THRESHOLD = "threshold"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class CommitOptions:
    """What a commit leaves live, and what is made of the rest; None: as the session says.

    working_memory: whether the archive goes into the working memory. extraction_metadata: what the client says about
    what will be remembered, `{"event": {"tags": ["key=value"]}}`.
    """

    retention: Retention = field(default_factory=Retention)
    working_memory: bool | None = None
    extraction_metadata: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.extraction_metadata is not None:
            given_tags(self.extraction_metadata, "event", "extraction_metadata")


def keeping(keep_recent_count: int) -> CommitOptions:
    """Return the options of a commit that leaves the newest messages live, by their number."""
    return CommitOptions(Retention(keep_recent_count))


def remembers(options: CommitOptions, memory_policy: Mapping[str, object] | None) -> bool:
    """Return whether an archive goes into the working memory: as asked, else as the session says, else yes."""
    if options.working_memory is not None:
        return options.working_memory
    return (memory_policy or {}).get("working_memory") is not False


def check_memory_policy(policy: Mapping[str, object] | None) -> None:
    """Raise InvalidInput where a policy says about working memory what cannot be understood."""
    if policy is not None and not isinstance(policy.get("working_memory", True), bool):
        raise InvalidInput("memory_policy.working_memory must be true or false.", {"field": "memory_policy"})


def normal_tags(tags: Sequence[str]) -> list[str]:
    """Return tags in the one form they are compared in: lower-case `key=value`, the last value of each key.

    What is not a key and a value with one equals sign between them is dropped.
    """
    chosen: dict[str, str] = {}
    for tag in tags:
        parts = [part.strip() for part in tag.lower().split("=")]
        if len(parts) == _TAG_PARTS and all(parts):
            chosen.pop(parts[0], None)
            chosen[parts[0]] = parts[1]
    return [f"{key}={value}" for key, value in chosen.items()]


def given_tags(config: Mapping[str, Any], owner: str, field_name: str) -> list[str] | None:
    """Return `config[owner]["tags"]` in normal form, None where it says nothing about tags.

    Raises: InvalidInput, naming field_name, for anything but a list of texts in an object.
    """
    section = config.get(owner)
    if section is None:
        return None
    tags = section.get("tags") if isinstance(section, Mapping) else 0
    if tags is None:
        return None
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise InvalidInput(f"{field_name}.{owner}.tags must be a list of texts.", {"field": field_name})
    return normal_tags(tags)


def normal_extraction_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a session says about extraction with its tags in normal form. Raises: InvalidInput."""
    tags = given_tags(config, "events", "memory_extraction_config")
    return dict(config) if tags is None else {**config, "events": {**config["events"], "tags": tags}}


def metadata_of(options: CommitOptions, extraction_config: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what an archive keeps of it all: the tags of the commit, else those of the session; None for nothing."""
    asked = dict(options.extraction_metadata or {})
    tags = given_tags(asked, "event", "extraction_metadata")
    if tags is None:
        tags = given_tags(extraction_config or {}, "events", "memory_extraction_config") or []
        if not tags:
            return asked or None
    return {**asked, "event": {**(asked.get("event") or {}), "tags": tags}}
