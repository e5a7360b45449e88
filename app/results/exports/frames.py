"""Rows and raw samples as dataframes."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from app.cases.chosen_columns import all_names, column
from app.cases.column import Kind, Row, Value
from app.cases.errors import ResultsError
from app.cases.round import MEASURED, RECORD
from app.results.exports.records import NAMES, PHASES, Recorded, recorded
from app.results.plain import storable
from app.results.rows import row_names
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


def run_frame(run: Run, rows: Sequence[Row]) -> pd.DataFrame:
    """One line for each case of a run, with the columns of its `results.csv`."""
    return frame_of(rows, row_names(run.manifest.asked))


def frame_of(rows: Sequence[Row], names: Sequence[str] = ()) -> pd.DataFrame:
    """One line for each row, with all columns and their own types, whether or not these rows fill
    them: `Int64`, `boolean` and `string` have room for what was not measured. `names` are columns
    that are there even if no row has them.

    Rows of a run folder and of its `results.csv` give the same frame: a text that is empty is
    missing, since a file has no other form for it.
    """
    pd = pandas()
    columns = dict.fromkeys((*all_names(rows), *names))
    kinds = {name: known.kind if (known := column(name)) else "text" for name in columns}
    return pd.DataFrame(
        {
            name: pd.Series([_cell(row.get(name)) for row in rows], dtype=_TYPES[kind])
            for name, kind in kinds.items()
        }
    )


def _cell(value: Value) -> Value:
    """A name may hold bytes that no dataframe takes."""
    return storable(value) or None if isinstance(value, str) else value


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
