"""Rows as one JSON object that says what its columns mean, for programs that read no CSV."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from app.cases.chosen_columns import all_names, column
from app.cases.column import Row
from app.results.atomic import write_atomically
from app.results.diagnostic_columns import DIAGNOSTICS, diagnostics_of, text
from app.results.measured import Measured
from app.results.run import Run
from exporters.codec import to_json

RESULTS = "results.json"
_SCALARS = frozenset({type(None), bool, int, str})
"""Most values of most rows; whether one is a mapping takes far longer to find out."""


def export_json(run: Run, measured: Sequence[Measured]) -> tuple[Path, ...]:
    """Write `results.json` into the run folder; null where nothing was measured, and where what
    came out is infinite or no number, as an error of outputs may be: JSON has neither.

    Stable keys: what is added later is a new key.
    """
    rows = [one.row for one in measured]
    names = all_names(rows)
    manifest = run.manifest
    told = {
        "format": "graphlap-results",
        "version": 1,
        "run_id": manifest.run_id,
        "name": manifest.name,
        "created_at_utc": manifest.created_at_utc,
        "graphlap_version": manifest.graphlap_version,
        "environment": manifest.environment,
        "environments": run.environments,
        "plan": manifest.plan,
        "columns": [_column(name) for name in names],
    }
    path = run.path / RESULTS
    # A line for each row: indented, all of it would be written by Python's slow encoder.
    head = _text(finite(told), indent=1).removesuffix("\n}")
    whole = (_text(row_values(row, names)) for row in rows)
    text = f'{head},\n "rows": [\n  ' + ",\n  ".join(whole) + "\n ]\n}\n"
    write_atomically(path, text.encode(errors="backslashreplace"))
    return (path,)


def row_values(row: Row, names: Sequence[str]) -> dict[str, Any]:
    """The row's values, its diagnostics as objects with the text of each."""
    values = {name: finite(row.get(name)) for name in names}
    if DIAGNOSTICS in values:
        values[DIAGNOSTICS] = [
            {**finite(to_json(one)), "text": text(one)} for one in diagnostics_of(row)
        ]
    return values


def finite(value: Any) -> Any:
    """The value, None for each number in it that JSON has no form for."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite(one) for name, one in value.items()}
    return [finite(one) for one in value] if isinstance(value, list | tuple) else value


def _text(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)


def _column(name: str) -> dict[str, Any]:
    known = column(name)
    if known is None:
        return {"name": name}
    return {
        "name": name,
        "kind": known.kind,
        "title": known.title,
        "unit": known.unit,
        "meaning": known.meaning,
        "better": known.better,
    }
