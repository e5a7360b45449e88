"""`operators/<case>.csv`: a case's operators, what each takes in one run, and its share of all."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from app.cases.columns import Row
from app.cases.errors import ResultsError
from app.cases.operators import OperatorTimes
from app.results.folder import RunFolder
from app.results.lines import Operators
from app.results.table import to_csv
from runtimes.execution import OpTime

FOLDER = "operators"
COLUMNS = ("node", "op", "time_us", "share", "engine_name")


def write_operators(folder: RunFolder, times: OperatorTimes) -> Operators:
    """Write the table of a case's operators, and give the line that tells of it."""
    file = f"{FOLDER}/{times.case_id}.csv" if times.ops else ""
    if file:
        folder.write(file, operators_csv(times))
    return Operators(times.case_id, times.clock, times.runs, times.reason, file, times.total_us)


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
        }
        for op in times.ops
    ]
    return to_csv(rows, COLUMNS)


def read_operators(run: Path, line: Operators) -> OperatorTimes:
    """The times that a journal line tells of; ResultsError if their file can't be read."""
    known = OperatorTimes(line.case_id, line.clock, line.runs, reason=line.reason)
    if not line.file:
        return known
    path = run / line.file
    try:
        rows = list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8"), newline="")))
        ops = tuple(
            OpTime(row["node"], row["op"], float(row["time_us"]), row["engine_name"])
            for row in rows
        )
    except (OSError, KeyError, ValueError) as error:
        raise ResultsError(f"{path} can't be read ({error})", "restore it, or remove it") from None
    return OperatorTimes(line.case_id, line.clock, line.runs, ops, line.reason)
