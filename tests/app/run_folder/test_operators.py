"""Operator times as a file that people and programs read, and of several runtimes side by side."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.analysis.columns.rows import Rows
from app.cases.case import Case
from app.cases.column import Row
from app.cases.errors import ResultsError
from app.cases.jobs import Operator, OperatorTimes, Peak
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.folder import RunFolder
from app.run_folder.journal import Operators
from app.run_folder.operators import (
    OperatorComparison,
    SharedNodes,
    compare_operators,
    operator_warnings,
    read_operators,
    write_operators,
)
from app.runs.reader import read_run
from exporters.diagnostics import diagnostic
from runtimes.execution import Clock
from tests.app.gui.runs import new_run
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record

OPS = (Operator("a", "Gemm", 3.0, "k1"), Operator('b "c", d', "Relu", 1.0, "=k2"))


def test_operator_times_survive_their_file(tmp_path: Path) -> None:
    times = OperatorTimes("case", "wall", 7, OPS)
    with new_run(tmp_path / "run", [CASE]) as folder:
        line = write_operators(folder, times)
        without = write_operators(folder, OperatorTimes("case", reason="it does not tell"))
    lines = list(csv.DictReader((tmp_path / "run" / line.file).read_text().splitlines()))
    assert [float(line["share"]) for line in lines] == [0.75, 0.25]
    profile = read_operators(tmp_path / "run", line)
    assert profile.ops[1].node == 'b "c", d'
    assert (profile.runs, profile.total_us) == (7, times.total_us)
    assert read_operators(tmp_path / "run", without).reason == "it does not tell"
    with pytest.raises(ResultsError, match=r"gone\.csv"):
        read_operators(tmp_path / "run", replace(line, file="operators/gone.csv"))


def test_what_an_operator_holds_and_reaches_survives_its_file(tmp_path: Path) -> None:
    peak = Peak(1e9, 1e6, 1000, "by hand")
    first_operator = Operator("fused a", "Gemm", 4.0, "k", ("a", "b"), 512, 896, 1.0)
    second_operator = Operator(
        *("reorder", "Reorder", 1.0, "k"),
        in_use_bytes=100,
        peak_bytes=200,
        arena_bytes=4096,
        pool_run_us=0.5,
        pool_wait_us=0.0,
    )
    times = OperatorTimes(
        "case", "wall", 7, (first_operator, second_operator), run_us=9.5, peak=peak
    )
    with new_run(tmp_path / "run", [CASE]) as folder:
        line = write_operators(folder, times)
    assert read_operators(tmp_path / "run", line) == times
    assert first_operator.peak_share == 0.25
    assert times.high_water == second_operator
    assert replace(times, ops=(first_operator,)).high_water is None


@pytest.mark.parametrize(
    ("total_us", "facts", "code"),
    [
        (3960.0, {}, "operators_exceed_run"),
        (40.0, {}, "operators_miss_time"),
        (150.0, {}, ""),
        (3960.0, {"clock": "device"}, ""),
        (3960.0, {"concurrency": 2}, ""),
    ],
)
def test_operators_that_add_up_to_another_time_than_the_run_are_warned_of(
    tmp_path: Path, total_us: float, facts: dict[str, Any], code: str
) -> None:
    row: Row = {"latency_p50_us": 107.0, "clock": "wall", "concurrency": 1, **facts}
    warnings = operator_warnings(Operators("case", "wall", 35, total_us=total_us), row)
    assert warnings == ([diagnostic(code, ratio=total_us / 107.0)] if code else [])
    with new_run(tmp_path / "run", [CASE]) as folder:
        record(folder, CASE, 0, [107.0] * 30, **facts)
        slow = OperatorTimes(CASE.case_id, "wall", 35, (Operator("a", "Reshape", total_us, "k"),))
        folder.record(write_operators(folder, slow))
    (row,) = Rows().of(read_run(tmp_path / "run"))
    told = [entry.code for entry in diagnostics_of(row) if entry.code.startswith("operators_")]
    assert told == [code] * bool(code), "and its row says so"


ORT = Case("net.onnx", "ort-cpu", axes={"batch": 4})
OV, CARD = replace(ORT, runtime="openvino-cpu"), replace(ORT, runtime="fpga:v80")


def op(time_us: float, *holds: str) -> Operator:
    return Operator(" ".join(holds) or "reorder", "Op", time_us, "", holds)


def compared(path: Path, *profiles: tuple[Case, Clock, list[Operator]]) -> list[OperatorComparison]:
    with RunFolder.create(path, manifest_of([case for case, _, _ in profiles])) as folder:
        folder.begin(ENVIRONMENT)
        for case, clock, ops in profiles:
            times = OperatorTimes(case.case_id, clock, 9, tuple(ops))
            folder.record(write_operators(folder, times))
    return compare_operators(read_run(path))


def test_nodes_that_one_engine_fuses_are_one_row_for_all(tmp_path: Path) -> None:
    (comparison,) = compared(
        tmp_path / "run",
        (ORT, "wall", [op(5.0, "conv", "bias"), op(1.0, "relu"), op(2.0, "add"), op(3.0, "pool")]),
        (OV, "wall", [op(0.5), op(4.0, "conv"), op(1.5, "bias", "relu"), op(6.0, "add")]),
    )
    assert comparison.label == "net.onnx batch 4"
    assert comparison.names == ("ort-cpu", "openvino-cpu")
    assert comparison.shared == (
        SharedNodes(("conv", "bias", "relu"), (6.0, 5.5)),
        SharedNodes(("add",), (2.0, 6.0)),
        SharedNodes(("pool",), (3.0, None)),
    )
    assert comparison.own_us == (0.0, 0.5)


@pytest.mark.parametrize(
    ("other", "clock", "ops"),
    [
        (CARD, "simulated", [op(1.0, "conv")]),
        (replace(OV, axes={"batch": 8}), "wall", [op(1.0, "conv")]),
        (OV, "wall", [op(1.0)]),
    ],
    ids=["a simulated card", "another batch", "no known nodes"],
)
def test_only_known_nodes_of_like_cases_are_put_side_by_side(
    tmp_path: Path, other: Case, clock: Clock, ops: list[Operator]
) -> None:
    assert not compared(tmp_path / "run", (ORT, "wall", [op(1.0, "conv")]), (other, clock, ops))
