"""Write the versions of uv.lock into [tool.uv] of pyproject.toml as name==version constraints."""

import re
import sys
import tomllib
from pathlib import Path

BUILD = {"hatchling": "1.33.0"}


def block(key: str, pins: list[str]) -> str:
    lines = "".join(f'  "{pin}",\n' for pin in pins)
    return f"{key} = [\n{lines}]" if pins else f"{key} = []"


def replace(text: str, key: str, pins: list[str]) -> str:
    return re.sub(rf"^{key} = \[[^\]]*\]", lambda _: block(key, pins), text, flags=re.M)


def main() -> None:
    root = Path(__file__).resolve().parent.parent
    project = root / "pyproject.toml"
    text = project.read_text()
    pins: list[str] = []
    if "--clear" not in sys.argv:
        lock = tomllib.loads((root / "uv.lock").read_text())
        pins = sorted(f"{p['name']}=={p['version']}" for p in lock["package"] if "registry" in p["source"])
    text = replace(text, "constraint-dependencies", pins)
    text = replace(text, "build-constraint-dependencies", sorted(f"{n}=={v}" for n, v in BUILD.items()))
    project.write_text(text)


main()
