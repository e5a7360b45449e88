"""`graphlap models`: the models by suite, as a table for people, CSV or JSON.

Read from the committed table `assets/catalogue.csv`, so that it needs no torch to count.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from itertools import accumulate
from textwrap import wrap

from app.cases.column import Row, Value
from app.cases.errors import PlanError, suggestion
from app.plan.plan_files import load_suite, suite_names
from app.present.document import Cell, Column, Table, table
from app.results import text
from app.results.table import to_csv
from exporters import own
from exporters.models import catalogue
from runtimes import registry

_APART = "  "
_SHOWN = ("name", "suite", "parameters", "macs", "axes", "family", "source")
"""Those that come last go first where there is no room."""


def models_of(suite: str | None) -> list[Row]:
    """A row for each model of a suite, or of the catalogue; PlanError for an unknown suite."""
    wanted = _models(suite)
    return [row for row in _table() if row["name"] in wanted]


def as_json(rows: Sequence[Row]) -> str:
    """A list of objects."""
    return json.dumps(rows, indent=1) + "\n"


def as_csv(rows: Sequence[Row]) -> str:
    """Every column of the catalogue."""
    return to_csv(rows, list(rows[0])).decode()


def as_table(rows: Sequence[Row]) -> Table:
    """The columns for people as a table of a document."""
    cells = [[_document_cell(row[name]) for name in _SHOWN] for row in rows]
    return table((Column(n, is_name=n not in ("parameters", "macs")) for n in _SHOWN), cells)


def _document_cell(value: Value) -> Cell:
    return Cell(_cell(value), value)


def _table() -> list[Row]:
    """The committed rows, whole numbers as such and None for an empty cell."""
    content = own.asset("catalogue.csv").read_text("utf-8")
    return [
        {name: _value(cell) for name, cell in line.items()}
        for line in csv.DictReader(content.splitlines())
    ]


def _value(cell: str) -> Value:
    return int(cell) if cell.isdecimal() else cell or None


def _models(suite: str | None) -> set[str]:
    """The names of a suite of the catalogue, or of a plan that ships; all without a suite."""
    by_suite = catalogue.by_suite()
    if suite is None:
        return set(catalogue.names())
    if suite in by_suite:
        return {definition.name for definition in by_suite[suite]}
    if suite in suite_names():
        return {model for sweep in load_suite(suite).sweeps for model in sweep.models}
    known = sorted({*by_suite, *suite_names()})
    raise PlanError(f"there is no suite called {suite!r}", suggestion(suite, known))


def as_text(rows: Sequence[Row], width: int) -> str:
    """No wider than `width`. rich alone would take a good part of the time that a list may take."""
    lines = [_SHOWN, *(tuple(_cell(row[name]) for name in _SHOWN) for row in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(_SHOWN))]
    ends = list(accumulate(widths, lambda end, wide: end + len(_APART) + wide))
    shown = max(1, sum(end <= width for end in ends))
    table = [
        _APART.join(cell.ljust(w) for cell, w in zip(line[:shown], widths, strict=False)).rstrip()
        for line in lines
    ]
    known = f"suites: {', '.join(suite_names())}; runtimes: {', '.join(registry.names())}"
    said = wrap(f"{len(rows)} models; {known}", width, break_on_hyphens=False)
    if left_out := _SHOWN[shown:]:
        said.append(f"-f csv has {' and '.join(left_out)} too")
    return "\n".join([*table, "", *said]) + "\n"


def _cell(value: Value) -> str:
    return text.count(value) if isinstance(value, int) else str(value or "")
