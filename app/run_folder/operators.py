"""`operators/<case>.csv`: times of a case's operators, and several runtimes side by side.

Engines fuse nodes, each in its own way. Side by side are the smallest groups of nodes that no
engine of these fuses with a node outside; what an engine added of its own is one figure for
each.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

from app.cases.case import Case
from app.cases.column import Row
from app.cases.errors import FileError
from app.cases.jobs import Operator, OperatorTimes
from app.formatting.case_labels import case_label, model_labels
from app.run_folder.folder import RunFolder
from app.run_folder.journal import Operators
from app.run_folder.run import Run
from app.run_folder.table import restore_formula, to_csv
from exporters.diagnostics import Diagnostic, diagnostic
from exporters.file_access import read_file
from runtimes.execution import Clock

FOLDER = "operators"
_SEPARATOR = " + "
_FAR_OFF = 2.0
"""Operators that take so many times what a run takes, or its inverse, are worth a warning."""


def write_operators(folder: RunFolder, times: OperatorTimes) -> Operators:
    """Write the table of a case's operators, and give the line that tells of it."""
    file = f"{FOLDER}/{times.case_id}.csv" if times.ops else ""
    table = operators_csv(times)
    if file:
        folder.write(file, table)
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
        file_crc32=crc32(table) if file else None,
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
            "holds": _SEPARATOR.join(op.holds),
            "peak_share": op.peak_share,
            **{name: getattr(op, name) for name in _FIGURES},
        }
        for op in times.ops
    ]
    return to_csv(rows, COLUMNS)


def read_operators(run: Path, line: Operators) -> OperatorTimes:
    """The times that a journal line tells of; ResultsError if their file can't be read."""
    times = OperatorTimes(
        line.case_id,
        line.clock,
        line.runs,
        reason=line.reason,
        run_us=line.run_us,
        peak=line.peak,
    )
    if not line.file:
        return times
    path = run / line.file
    try:
        text = io.StringIO(read_file(path).decode("utf-8"), newline="")
        table = csv.DictReader(text, strict=True)
        if "time_us" not in (table.fieldnames or ()):
            raise ValueError("it has no column time_us")
        rows = list(table)
        if any(None in row.values() for row in rows):
            raise ValueError("a line ends early")
        return replace(times, ops=tuple(_operator(row) for row in rows))
    except (OSError, KeyError, ValueError, csv.Error) as error:
        raise FileError(path, f"can't be read ({error})", "restore it, or remove it") from None


SUM_DIAGNOSTICS = ("operators_exceed_run", "operators_miss_time")


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
    figures = {name: kind(row[name]) for name, kind in _FIGURES.items() if row.get(name)}
    return Operator(
        restore_formula(row["node"]),
        restore_formula(row["op"]),
        _finite(row["time_us"]),
        restore_formula(row["engine_name"]),
        tuple(restore_formula(row["holds"]).split(_SEPARATOR)) if row.get("holds") else (),
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


@dataclass(frozen=True, slots=True)
class SharedNodes:
    """Nodes of the file that are one piece of work in all engines, and what each takes for it.

    In microseconds, in the order of the runtimes; None where an engine has left them out.
    """

    nodes: tuple[str, ...]
    times_us: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class OperatorComparison:
    """`what` is the model at its sizes, `names` the runtimes; `own_us` is what each spends on
    work that belongs to no node of the file, as far as it tells."""

    label: str
    names: tuple[str, ...]
    clock: Clock
    shared: tuple[SharedNodes, ...]
    own_us: tuple[float, ...]


def compare_operators(run: Run) -> list[OperatorComparison]:
    """One for each case that several runtimes told the operators of, on the same clock.

    ResultsError if a table of operators can't be read.
    """
    models = model_labels(case.model for case in run.cases)
    groups: dict[tuple[str, Clock], list[tuple[Case, OperatorTimes]]] = {}
    for case in run.cases:
        line = run.operators.get(case.case_id)
        if line is not None and line.file:
            work_case = replace(case, runtime="", options={})
            label = case_label(work_case, models).replace("  ", " ").strip()
            times = read_operators(run.path, line)
            groups.setdefault((label, line.clock), []).append((case, times))
    return [
        _comparison(label, clock, entries)
        for (label, clock), entries in groups.items()
        if sum(any(op.holds for op in times.ops) for _, times in entries) > 1
    ]


def _comparison(
    label: str, clock: Clock, entries: Sequence[tuple[Case, OperatorTimes]]
) -> OperatorComparison:
    matches = [pair for pair in entries if any(op.holds for op in pair[1].ops)]
    return OperatorComparison(
        label,
        tuple(_name(case) for case, _ in matches),
        clock,
        tuple(
            SharedNodes(group, tuple(_time_us(times.ops, group) for _, times in matches))
            for group in _groups([op.holds for _, times in matches for op in times.ops])
        ),
        tuple(sum(op.time_us for op in times.ops if not op.holds) for _, times in matches),
    )


def _name(case: Case) -> str:
    options = [f"{name}={value}" for name, value in sorted(case.options.items())]
    return " ".join([case.runtime, *options])


def _groups(name_groups: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The names in groups, so that all that is held together anywhere is in one."""
    group_of: dict[str, list[str]] = {}
    for names in name_groups:
        joined_groups: list[str] = []
        for group in {id(g): g for name in names for g in [group_of.get(name, [name])]}.values():
            joined_groups += group
        group_of |= dict.fromkeys(joined_groups, joined_groups)
    return [tuple(group) for group in {id(g): g for g in group_of.values()}.values()]


def _time_us(ops: Iterable[Operator], group: Sequence[str]) -> float | None:
    times = [op.time_us for op in ops if not set(op.holds).isdisjoint(group)]
    return sum(times) if times else None
