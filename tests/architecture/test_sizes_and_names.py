"""Small rooms with names that explain."""

import ast
import re

import pytest

from tests.architecture.source_tree import python_files, shown, tracked_files, tree

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
WORDS_THAT_EXPLAIN_NOTHING = {"utils", "util", "helpers", "helper", "common", "manager", "misc", "base"}
SOURCES = python_files("app", "migrations", "tests")


def test_no_file_is_a_box_for_everything() -> None:
    long = {shown(path): lines for path in SOURCES if (lines := len(path.read_text().splitlines())) > MAX_FILE_LINES}
    assert not long


def test_every_function_fits_on_a_screen() -> None:
    long = {
        f"{shown(path)}:{node.name}": length
        for path in python_files("app")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION_LINES
    }
    assert not long


def test_modules_are_named_by_their_noun() -> None:
    vague = [
        shown(path) for path in python_files("app") if WORDS_THAT_EXPLAIN_NOTHING & set(re.split(r"[_/.]", shown(path)))
    ]
    assert not vague


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(r"(?<![\w.])/(?:work|farm|root)/[a-z]", id="paths of one machine"),
        pytest.param(r"https?://[\w.-]*(?:pypi|pythonhosted|npmjs|deb\.debian)\.\w+", id="hosts of registries"),
        pytest.param(r"(?i)\bopenviking\s*/\s*session\b", id="sources of the peer"),
    ],
)
def test_nothing_of_the_workshop_enters_the_repository(pattern: str) -> None:
    mine = "test_sizes_and_names.py"
    suffixes = {".py", ".md", ".toml", ".yml", ".sql", ".txt", ".lock", ".ini", ".mako", ""}
    found = [
        shown(path)
        for path in tracked_files()
        if path.suffix in suffixes and path.name != mine and re.search(pattern, path.read_text(errors="replace"))
    ]
    assert not found
