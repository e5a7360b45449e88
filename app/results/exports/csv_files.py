"""Rows and raw samples as CSV, for any program that reads tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.results.atomic import write_atomically
from app.results.exports.records import NAMES, PHASES, recorded
from app.results.folder import RESULTS
from app.results.measured import Measured
from app.results.run import Run
from app.results.table import to_csv

SAMPLES_FILE = "samples.csv"
_AT_ONCE = 1 << 16


def export_csv(run: Run, measured: Sequence[Measured]) -> tuple[Path, ...]:
    """Write `results.csv` and `samples.csv` into the run folder; the latter as in Parquet."""
    rows = [one.row for one in measured]
    results, samples = run.path / RESULTS, run.path / SAMPLES_FILE
    write_atomically(results, to_csv(rows))
    with samples.open("w", encoding="utf-8") as file:
        file.write(",".join(NAMES) + "\n")
        for one in recorded(run):
            # An id is 12 hex digits and a phase one of two words: nothing needs quotes.
            named = [f"{one.result.case_id},{one.result.round},{phase}," for phase in PHASES]
            times = (one.records[name] for name in NAMES[3:-1])
            columns = (one.records["phase"], *times, one.latency_ns)
            for begin in range(0, len(one.records), _AT_ONCE):
                part = (column[begin : begin + _AT_ONCE].tolist() for column in columns)
                file.writelines(
                    f"{named[phase]}{lane},{due},{started},{finished},{latency}\n"
                    for phase, lane, due, started, finished, latency in zip(*part, strict=True)
                )
    return results, samples
