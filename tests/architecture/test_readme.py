"""What README says about settings, and what is there, are the same."""

import re

from app.settings import Settings
from tests.architecture.source_tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_lists_every_setting_and_no_other() -> None:
    listed = set(re.findall(r"^\| `(CAIRN_[A-Z_]+)`", README, flags=re.M))
    assert listed == {f"CAIRN_{name.upper()}" for name in Settings.model_fields}


def test_readme_gives_the_defaults_that_hold() -> None:
    rows = dict(re.findall(r"^\| `CAIRN_([A-Z_]+)` \| ([^|]*) \|", README, flags=re.M))
    for name, field in Settings.model_fields.items():
        if field.default is None or field.default_factory is not None:
            continue
        default = f"{field.default:g}" if isinstance(field.default, float) else str(field.default)
        assert rows[name.upper()].strip("` ").lower() == (default.lower() or "empty"), name


def test_every_setting_says_what_it_is_for() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []
