"""Rows and raw samples as dataframes."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from app.cases.chosen_columns import all_names, column
from app.cases.column import Kind, Value
from app.cases.errors import ResultsError
from app.cases.round import MEASURED, RECORD
from app.results.exports.records import NAMES, PHASES, Recorded, recorded
from app.results.measured import Measured
from app.results.plain import storable
from app.results.run import Run

if TYPE_CHECKING:
    import pandas as pd

_TYPES: dict[Kind, str] = {
    "text": "string",
    "count": "Int64",
    "number": "float64",
    "flag": "boolean",
}
"""pandas' own, by the kind of a column."""


def pandas() -> ModuleType:
    """The package; ResultsError names the extra that brings it."""
    try:
        import pandas as pd
    except ImportError:
        raise ResultsError(
            "a dataframe needs pandas, which is not installed", "pip install 'graphlap[data]'"
        ) from None
    return pd


def rows_frame(measured: Sequence[Measured]) -> pd.DataFrame:
    """One line for each case, with all columns and their own types, whether or not this run fills
    them: `Int64`, `boolean` and `string` have room for what was not measured."""
    pd, rows = pandas(), [one.row for one in measured]
    kinds = {name: known.kind for name in all_names(rows) if (known := column(name))}
    return pd.DataFrame(
        {
            name: pd.Series([_cell(row.get(name)) for row in rows], dtype=_TYPES[kind])
            for name, kind in kinds.items()
        }
    )


def _cell(value: Value) -> Value:
    """A name may hold bytes that no dataframe takes."""
    return storable(value) if isinstance(value, str) else value


def samples_frame(run: Run, case_id: str = "", warmup: bool = False) -> pd.DataFrame:
    """One line for each iteration of all cases or of one, with `warmup` those that do not count."""
    pd = pandas()
    parts = [
        _frame(pd, one, warmup)
        for one in recorded(run)
        if not case_id or one.case.case_id == case_id
    ]
    if parts:
        return pd.concat(parts, ignore_index=True)
    nothing = {name: np.zeros(1, RECORD)[name] for name in NAMES[3:-1]}
    one = {"case_id": "", "round": 0, "phase": "", **nothing, "latency_ns": 0}
    return pd.DataFrame(one).iloc[:0]  # of the types that samples have


def _frame(pd: ModuleType, one: Recorded, warmup: bool) -> pd.DataFrame:
    kept = slice(None) if warmup else one.records["phase"] == MEASURED
    records, latency_ns = one.records[kept], one.latency_ns[kept]
    columns = {
        "case_id": one.result.case_id,
        "round": one.result.round,
        "phase": [PHASES[phase] for phase in records["phase"]],
        **{name: records[name] for name in NAMES[3:-1]},
        "latency_ns": latency_ns,
    }
    return pd.DataFrame(columns)
