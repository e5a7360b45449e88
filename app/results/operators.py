"""`operators/<case>.csv`: a case's operators, what each takes in one run, and its share of all."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.cases.column import Row
from app.cases.errors import FileError
from app.cases.operators import Operator, OperatorTimes
from app.results.folder import RunFolder
from app.results.lines import Operators
from app.results.table import restored, to_csv
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.regular import read_file

FOLDER = "operators"
_BETWEEN = " + "
_FAR_OFF = 2.0
"""Operators that take so many times what a run takes, or its inverse, are worth a warning."""


def write_operators(folder: RunFolder, times: OperatorTimes) -> Operators:
    """Write the table of a case's operators, and give the line that tells of it."""
    file = f"{FOLDER}/{times.case_id}.csv" if times.ops else ""
    if file:
        folder.write(file, operators_csv(times))
    return Operators(
        times.case_id,
        times.clock,
        times.runs,
        times.reason,
        file,
        times.total_us,
        times.run_us,
        times.peak,
        transient=times.transient,
    )


def operators_csv(times: OperatorTimes) -> bytes:
    """The file's bytes: one line for each operator, in graph order, shares from 0 to 1."""
    total_us = times.total_us
    rows: list[Row] = [
        {
            "node": op.node,
            "op": op.op,
            "time_us": op.time_us,
            "share": op.time_us / total_us if total_us else 0.0,
            "engine_name": op.engine_name,
            "holds": _BETWEEN.join(op.holds),
            "peak_share": op.peak_share,
            **{name: getattr(op, name) for name in _FIGURES},
        }
        for op in times.ops
    ]
    return to_csv(rows, COLUMNS)


def read_operators(run: Path, line: Operators) -> OperatorTimes:
    """The times that a journal line tells of; ResultsError if their file can't be read."""
    known = OperatorTimes(
        line.case_id,
        line.clock,
        line.runs,
        reason=line.reason,
        run_us=line.run_us,
        peak=line.peak,
    )
    if not line.file:
        return known
    path = run / line.file
    try:
        text = io.StringIO(read_file(path).decode("utf-8"), newline="")
        table = csv.DictReader(text, restval="", strict=True)
        if "time_us" not in (table.fieldnames or ()):
            raise ValueError("it has no column time_us")
        rows = list(table)
        return replace(known, ops=tuple(_operator(row) for row in rows))
    except (OSError, KeyError, ValueError, csv.Error) as error:
        raise FileError(path, f"can't be read ({error})", "restore it, or remove it") from None


def operator_warnings(line: Operators | None, row: Row) -> list[Diagnostic]:
    """What to doubt in the operator times of a row that is measured by the same clock."""
    p50_us = row["latency_p50_us"]
    if line is None or not line.total_us or not isinstance(p50_us, (int, float)) or not p50_us:
        return []
    if line.clock != row["clock"] or row["concurrency"] != 1:
        return []
    times = line.total_us / p50_us
    if times > _FAR_OFF:
        return [diagnostic("operators_exceed_run", ratio=times)]
    if times < 1 / _FAR_OFF:
        return [diagnostic("operators_miss_time", ratio=times)]
    return []


def _operator(row: Mapping[str, str]) -> Operator:
    """A file of an earlier version has fewer columns."""
    figures = {name: kind(row[name]) for name, kind in _FIGURES.items() if row.get(name)}
    return Operator(
        restored(row["node"]),
        restored(row["op"]),
        _finite(row["time_us"]),
        restored(row["engine_name"]),
        tuple(restored(row["holds"]).split(_BETWEEN)) if row.get("holds") else (),
        **figures,
    )


def _finite(cell: str) -> float:
    value = float(cell)
    if not math.isfinite(value):
        raise ValueError(f"a time is {cell}, not a finite number")
    return value


_FIGURES: Mapping[str, Callable[[str], Any]] = {
    "macs": int,
    "bytes_moved": int,
    "roof_us": _finite,
    "in_use_bytes": int,
    "peak_bytes": int,
    "arena_bytes": int,
    "pool_run_us": _finite,
    "pool_wait_us": _finite,
}
"""The figures of an operator that may be empty, and how each is read."""
COLUMNS = (
    *("node", "op", "time_us", "share", "engine_name", "holds"),
    *("macs", "bytes_moved", "roof_us", "peak_share"),
    *("in_use_bytes", "peak_bytes", "arena_bytes", "pool_run_us", "pool_wait_us"),
)
