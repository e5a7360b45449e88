"""The tables of operators: whose nodes, what share of the peak, how the profiler distorts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from app.cases.case import Case
from app.cases.jobs import Operator, OperatorTimes, Peak
from app.columns.rows import Rows
from app.console.operators import operator_tables
from app.present.terminal import as_text
from app.run_folder.folder import RunFolder
from app.run_folder.operators import write_operators
from app.runs.reader import read_run
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, record

CASE = Case("net.onnx", "ort-cpu", axes={"batch": 4})
OV, FAKE = replace(CASE, runtime="openvino-cpu"), replace(CASE, runtime="fake")
PEAK = Peak(68.5e9, 37.2e9, 1572864, "numpy by hand")
OPS = (
    Operator(
        "fused node_with_a_long_name_1",
        "FusedConv",
        40.0,
        "k",
        ("conv", "relu"),
        131_000,
        529_000,
        10.0,
    ),
    Operator("reorder", "Reorder", 5.0, "k"),
)


def shown(path: Path, width: int) -> str:
    with RunFolder.create(path, manifest_of((CASE, OV, FAKE), 1)) as folder:
        folder.begin(ENVIRONMENT)
        for case in (CASE, OV):
            record(folder, case, 0, [50.0] * 30)
            times = OperatorTimes(case.case_id, "wall", 100, OPS, run_us=75.0, peak=PEAK)
            folder.record(write_operators(folder, times))
        none = OperatorTimes(FAKE.case_id, reason="fake does not tell: profile another")
        folder.record(write_operators(folder, none))
    run = read_run(path)
    return as_text(operator_tables(run, Rows().of(run), width), width)


def test_an_operator_has_its_nodes_its_work_and_its_share_of_the_peak(tmp_path: Path) -> None:
    text = shown(tmp_path / "run", 200)
    conv = next(line for line in text.splitlines() if line.startswith("FusedConv"))
    assert "conv + relu" in conv
    for figure in ("40.0 µs", "88.9%", "131k", "529 kB", "25%"):
        assert figure in conv
    assert "peak 68.5 GFLOP/s, and 37.2 GB/s with 1.5 MiB in use" in text
    assert text.count("numpy by hand") == 1
    assert "no operator times of net · fake: fake does not tell: profile another" in text


def test_the_profilers_distortion_is_a_figure(tmp_path: Path) -> None:
    text = shown(tmp_path / "run", 200)
    assert "45.0 µs in all, medians of 100 profiled runs" in text
    assert "a profiled run takes 75.0 µs, 1.50 times the p50 of 50.0 µs" in text


def test_two_runtimes_stand_side_by_side_on_80_columns(tmp_path: Path) -> None:
    lines = shown(tmp_path / "run", 80).splitlines()
    assert max(map(len, lines)) <= 80
    (row,) = [line for line in lines if line.startswith("conv + relu")]
    assert row.split()[-4:] == ["40.0", "µs", "40.0", "µs"]
    assert any(line.startswith("of no node of the file") for line in lines)
