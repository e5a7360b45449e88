"""A figure in a table is a value with a unit for programs; none has to be read out of a text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.golden.folders import NAMES as RUN_NAMES
from tests.golden.folders import unpack
from tests.golden.screens import printed

FIGURE = re.compile(r"[<>+-]?\d[\d.,]*k?( ?(%|ns|µs|ms|s|/s|B|kB|MB|GB|x)| to .*| \(.*)?")
"""A text that is a figure, with a unit or an interval."""
NAMES = ("step", "threads", "largest batch", "tried", "version")
"""Columns of names, some of which are digits."""
WITH_TABLES = [name for name in RUN_NAMES if name not in ("compared", "history")]


def tables(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if block["type"] == "table":
            yield block
        yield from tables(block.get("blocks", []))


def untyped_cells(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Cells that show a figure and have neither its value nor its interval."""
    for row in table["rows"]:
        for key, cell in row.items():
            text = cell if isinstance(cell, str) else (cell or {}).get("text", "")
            has_value = isinstance(cell, dict) and (cell["value"] is not None or "low" in cell)
            if key not in NAMES and FIGURE.fullmatch(text) and not has_value:
                yield key, cell


@pytest.mark.parametrize("name", WITH_TABLES)
def test_every_figure_of_a_table_has_a_value(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = str(unpack(name, Path(name)))
    for form in ((), ("--verbose",), ("--time",)):
        document = json.loads(printed("show", path, *form, "-f", "json", columns=80))
        for table in tables(document["blocks"]):
            assert list(untyped_cells(table)) == [], table["columns"]
