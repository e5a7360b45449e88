"""`graphlap models` and `graphlap runtimes`: the catalogues of models and of runtimes."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence

from app.cases.column import Row, Value
from app.cases.errors import PlanError, suggestion
from app.formatting import text
from app.formatting.text import counted
from app.machine.installed_runtimes import availability, options_of, runtime
from app.plan.plan_files import load_suite, suite_names
from app.present.document import Block, Cell, Column, Paragraph, names, table
from app.run_folder.table import to_csv
from exporters import install_layout
from exporters.models import catalogue
from runtimes import registry
from runtimes.base import Available
from runtimes.options import Option
from runtimes.registry import parse_spec

_COLUMNS = ("name", "suite", "parameters", "macs", "axes", "family", "source")
"""Those that come last go first where there is no room."""


def models_of(suite: str | None) -> list[Row]:
    """A row for each model of a suite, or of the catalogue; PlanError for an unknown suite."""
    model_names = _models(suite)
    return [row for row in _table() if row["name"] in model_names]


def as_json(rows: Sequence[Row]) -> str:
    """A list of objects."""
    return json.dumps(rows, indent=1) + "\n"


def as_csv(rows: Sequence[Row]) -> str:
    """Every column of the catalogue."""
    return to_csv(rows, list(rows[0])).decode()


def models_blocks(rows: Sequence[Row]) -> tuple[Block, ...]:
    """The columns for people, and what else can be named."""
    cells = [[Cell(_cell(row[name]), row[name]) for name in _COLUMNS] for row in rows]
    columns = (
        Column(name, is_name=name not in ("parameters", "macs"), priority=max(0, place - 3))
        for place, name in enumerate(_COLUMNS)
    )
    hint = f"suites: {', '.join(suite_names())}; runtimes: {', '.join(registry.names())}"
    return table(columns, cells), Paragraph(f"{counted(len(rows), 'model')}; {hint}")


def _table() -> list[Row]:
    """The committed rows, whole numbers as such and None for an empty cell."""
    content = install_layout.asset("catalogue.csv").read_text("utf-8")
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
    suites = sorted({*by_suite, *suite_names()})
    raise PlanError(f"there is no suite called {suite!r}", suggestion(suite, suites))


def _cell(value: Value) -> str:
    return text.count(value) if isinstance(value, int) else str(value or "")


def runtimes_blocks() -> Iterator[Block]:
    """A row for each runtime."""
    rows = []
    for name in registry.names():
        state, definition = availability(name), runtime(name)
        is_here = isinstance(state, Available)
        rows.append(
            (
                name,
                "available" if is_here else "unavailable",
                state.version if isinstance(state, Available) else "",
                definition.clock,
                definition.summary
                if isinstance(state, Available)
                else f"{state.reason}: {state.remedy}",
            )
        )
    yield table(names("runtime", "state", "version", "clock", "description"), rows)


def options_blocks(name: str) -> Iterator[Block]:
    """A row for each option of a runtime; PlanError for a name that there is not."""
    spec = parse_spec(name)
    if spec.name not in registry.names():
        raise PlanError(f"there is no runtime {name!r}", suggestion(spec.name, registry.names()))
    yield Paragraph(f"{name}: {runtime(spec.name).summary}")
    rows = [
        (f"{spec.name}.{option.name}", _values(option), str(option.default), option.help)
        for option in (*options_of(name), *runtime(spec.name).patterns)
    ]
    yield table(names("option", "values", "default", "meaning"), rows)


def _values(option: Option) -> str:
    if option.choices:
        return ", ".join(map(str, option.choices))
    kind = type(option.default).__name__
    bounds = " to ".join(f"{end:g}" for end in (option.minimum, option.maximum) if end is not None)
    return f"{kind}, {bounds}" if bounds else kind
