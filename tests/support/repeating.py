"""`--repeat N`: tests that race take the fixture `repetition` and are run N times; `--races-only` runs no others."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--repeat", type=int, default=1, metavar="N", help="run every test that races N times")
    parser.addoption("--races-only", action="store_true", help="run only the tests that race")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "repetition" in metafunc.fixturenames:
        metafunc.parametrize("repetition", range(metafunc.config.getoption("repeat")))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("races_only"):
        others = [item for item in items if "repetition" not in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]
