"""Several runtimes side by side: the same work in each row, however an engine fuses it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from app.cases.case import Case
from app.cases.jobs import Operator, OperatorTimes
from app.run_folder.folder import RunFolder
from app.run_folder.operators import OperatorComparison, SharedNodes, compare_operators
from app.runs.reader import read_run
from runtimes.execution import Clock
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of

ORT = Case("net.onnx", "ort-cpu", axes={"batch": 4})
OV, CARD = replace(ORT, runtime="openvino-cpu"), replace(ORT, runtime="fpga:v80")


def op(time_us: float, *holds: str) -> Operator:
    return Operator(" ".join(holds) or "reorder", "Op", time_us, "", holds)


def compared(path: Path, *profiles: tuple[Case, Clock, list[Operator]]) -> list[OperatorComparison]:
    with RunFolder.create(path, manifest_of([case for case, _, _ in profiles])) as folder:
        folder.begin(ENVIRONMENT)
        from app.run_folder.operators import write_operators

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


def test_a_simulated_card_is_not_put_beside_wall_times(tmp_path: Path) -> None:
    ops = [op(1.0, "conv")]
    assert not compared(tmp_path / "run", (ORT, "wall", ops), (CARD, "simulated", ops))


def test_a_batch_is_put_beside_its_own_kind_only(tmp_path: Path) -> None:
    ops, larger = [op(1.0, "conv")], replace(OV, axes={"batch": 8})
    assert not compared(tmp_path / "run", (ORT, "wall", ops), (larger, "wall", ops))


def test_an_engine_whose_nodes_are_not_known_is_left_out(tmp_path: Path) -> None:
    ops = [op(1.0, "conv")]
    assert not compared(tmp_path / "run", (ORT, "wall", ops), (OV, "wall", [op(1.0)]))
