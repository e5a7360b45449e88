"""What a key depends on follows from the imports of our sources, as Python itself reads them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from exporters import steps

SOURCES = sorted(Path(steps.__file__).parent.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """By the syntax tree."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def test_every_import_of_our_sources_is_read() -> None:
    assert len(SOURCES) > 70
    missed_imports = {path: imported(path) - set(steps._imports(path)) for path in SOURCES}
    assert not {path: names for path, names in missed_imports.items() if names}


@pytest.mark.parametrize(
    "text",
    [
        "import exporters.cache\n",
        "from exporters.cache import Store, key_of as key\n",
        "from exporters.cache import (  # why\n    Store,\n    key_of,\n)\n",
        "def late():\n    from exporters import cache\n",
        "try:\n\timport exporters.cache as kept\nexcept ImportError:\n\tpass\n",
    ],
)
def test_every_form_of_an_import_is_read(text: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(text, "utf-8")
    assert imported(path)
    assert imported(path) <= set(steps._imports(path))
