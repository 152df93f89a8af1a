"""Exact token counts without a network.

tiktoken knows which encoding a model uses, and counts where the data file of that encoding already lies in its cache.
Everywhere else toktok-rs counts: its vocabularies are compiled in and its ids are the same. tiktoken would download a
file it does not find, so it is only let near an encoding whose file is there and undamaged.
"""

import hashlib
import os
import tempfile
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import tiktoken
import toktok
from tiktoken.model import encoding_name_for_model

from app.domain.errors import InvalidInput
from app.domain.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class TokenizerInfo:
    """What counts tokens here, for people: the name asked for, the encoding it means and the library that counts."""

    requested: str
    encoding: str
    library: Literal["tiktoken", "toktok-rs"]

    def __str__(self) -> str:
        source = "data file on disk" if self.library == "tiktoken" else "compiled-in vocabulary"
        return f"{self.encoding}, counted by {self.library} ({source})"


@dataclass(frozen=True, slots=True)
class _DataFile:
    cache_name: str
    sha256: str


# The names under which tiktoken caches its vocabularies and what they must contain; a test compares both with it.
_O200K: Final = _DataFile(
    "fb374d419588a4632f3f557e76b4b70aebbca790", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
)
_P50K: Final = _DataFile(
    "ec7223a39ce59f226a68acc30dc1af2788490e15", "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"
)
DATA_FILES: Final[Mapping[str, _DataFile]] = {
    "cl100k_base": _DataFile(
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
    ),
    "o200k_base": _O200K,
    "o200k_harmony": _O200K,
    "p50k_base": _P50K,
    "p50k_edit": _P50K,
    "r50k_base": _DataFile(
        "0ea1e91bbb3a60f729a8dc8f777fd2fc07cd8df4", "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
    ),
}
COMPILED_IN: Final = ("o200k_base", "cl100k_base", "o200k_harmony", "qwen3.5")


def build_token_counter(name: str) -> TokenCounter:
    """Return the counter for an encoding (`o200k_base`) or for the encoding of a model (`gpt-4o`).

    The counter is total: text that is no valid Unicode is counted with replacement characters. Reads at most one file
    and never the network.

    Raises: InvalidInput when nobody here knows the name, or when its vocabulary is not on this machine.
    """
    info = describe_tokenizer(name)
    return _tiktoken_counter(info.encoding) if info.library == "tiktoken" else _toktok_counter(info.encoding)


def describe_tokenizer(name: str) -> TokenizerInfo:
    """Return what `build_token_counter(name)` would count with.

    Raises: InvalidInput as build_token_counter does.
    """
    encoding = _encoding_for(name)
    if _data_is_on_disk(encoding):
        return TokenizerInfo(name, encoding, "tiktoken")
    if encoding in COMPILED_IN:
        return TokenizerInfo(name, encoding, "toktok-rs")
    raise InvalidInput(
        f"The vocabulary of {encoding} is not on this machine. Put its file into the folder that TIKTOKEN_CACHE_DIR "
        f"names, or choose one of {', '.join(COMPILED_IN)}.",
        {"tokenizer": name, "encoding": encoding},
    )


def _encoding_for(name: str) -> str:
    if name in COMPILED_IN or name in DATA_FILES:
        return name
    try:
        encoding = encoding_name_for_model(name)
    except KeyError:
        encoding = ""
    if encoding not in DATA_FILES:
        raise InvalidInput(
            f"No tokenizer is known under the name {name!r}. Use an encoding ({', '.join(COMPILED_IN)}) or the name "
            "of an OpenAI model.",
            {"tokenizer": name},
        )
    return encoding


def _cache_folder() -> Path | None:
    """Return where tiktoken looks for its files; None when its cache is switched off, so that it always downloads."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            folder = os.environ[variable]
            return Path(folder) if folder else None
    return Path(tempfile.gettempdir()) / "data-gym-cache"


def _data_is_on_disk(encoding: str) -> bool:
    folder, wanted = _cache_folder(), DATA_FILES.get(encoding)
    if folder is None or wanted is None:
        return False
    try:
        content = (folder / wanted.cache_name).read_bytes()
    except OSError:
        return False
    # tiktoken deletes a damaged file and downloads a new one.
    return hashlib.sha256(content).hexdigest() == wanted.sha256


def _tiktoken_counter(encoding: str) -> TokenCounter:
    loaded = tiktoken.get_encoding(encoding)

    def count(text: str) -> int:
        return len(loaded.encode_ordinary(_valid_unicode(text)))

    return count


def _toktok_counter(encoding: str) -> TokenCounter:
    # Its public function spreads one text over threads; `.count`, under a private name, takes a thirtieth of the time.
    count_exactly: Callable[[str], int] = toktok._encoding(encoding).count
    composed = encoding == "qwen3.5"

    def count(text: str) -> int:
        valid = _valid_unicode(text)
        return count_exactly(unicodedata.normalize("NFC", valid) if composed else valid)

    return count


def _valid_unicode(text: str) -> str:
    """Return the text with lone surrogates replaced, which neither library encodes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
