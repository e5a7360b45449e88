"""Rows and raw samples as dataframes."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from app.cases.chosen_columns import all_names
from app.cases.errors import ResultsError
from app.cases.round import MEASURED
from app.results.exports.records import NAMES, PHASES, Recorded, recorded
from app.results.measured import Measured
from app.results.run import Run

if TYPE_CHECKING:
    import pandas as pd


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
    """One line for each case, with all columns and their own types."""
    rows = [one.row for one in measured]
    return pandas().DataFrame(rows, columns=list(all_names(rows)))


def samples_frame(run: Run, case_id: str = "", warmup: bool = False) -> pd.DataFrame:
    """One line for each iteration of all cases or of one, with `warmup` those that do not count."""
    pd = pandas()
    parts = [
        _frame(pd, one, warmup)
        for one in recorded(run)
        if not case_id or one.case.case_id == case_id
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(NAMES))


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
