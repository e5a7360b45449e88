"""Rows and raw samples as CSV, for any program that reads tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.results.atomic import replacing, write_atomically
from app.results.exports.lines import lines, numbers, words
from app.results.exports.records import NAMES, PHASES, recorded
from app.results.measured import Measured
from app.results.run import Run
from app.results.tables import tables

SAMPLES_FILE = "samples.csv"
_AT_ONCE = 1 << 14


def export_csv(
    run: Run, measured: Sequence[Measured], columns: Sequence[str] = ()
) -> tuple[Path, ...]:
    """Write the tables of the rows and `samples.csv` into the run folder; the latter as in Parquet.

    `columns` are the words of `--columns`.
    """
    rows = [one.row for one in measured]
    samples, results = run.path / SAMPLES_FILE, []
    for name, content in tables(run.manifest, rows, columns):
        write_atomically(run.path / name, content)
        results.append(run.path / name)
    with replacing(samples) as file:
        file.write(f"{','.join(NAMES)}\n".encode())
        for one in recorded(run):
            # An id is 12 hex digits and a phase a word of ours: nothing needs quotes.
            named = [f"{one.result.case_id},{one.result.round},{phase}" for phase in PHASES]
            times = (*(one.records[name] for name in NAMES[3:-1]), one.latency_ns)
            for begin in range(0, len(one.records), _AT_ONCE):
                part = slice(begin, begin + _AT_ONCE)
                phases = words(named, one.records["phase"][part])
                file.write(lines([phases, *(numbers(time[part]) for time in times)]))
    return *results, samples
