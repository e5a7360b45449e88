"""Tables of checks, operators, gaps and replicas, on a narrow terminal too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.columns.rows import Rows
from app.analysis.columns.table import NAMES
from app.analysis.plot_data.curves import GapPoint, idleness
from app.cases.case import Case
from app.cases.column import Row
from app.formatting.text import TOO_NOISY
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from app.present.console.scaling import scaling_tables
from app.present.console.scenario_tables import gap_figures, gap_tables
from app.present.terminal import as_text
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.run_folder.runs import manifest_of, record


def row(gap_us: float | None, p50_us: float, runtime: str = "fake") -> Row:
    values: Row = dict.fromkeys(NAMES)
    scenario = "closed_loop" if gap_us is None else "paced"
    policy = None if gap_us is None else "spin"
    figures: Row = {
        "model": "mlp",
        "scenario": scenario,
        "gap_us": gap_us,
        "wait_policy": policy,
        "runtime": runtime,
        "latency_p50_us": p50_us,
        "latency_p99_us": None if p50_us > 100 else 2 * p50_us,
    }
    return values | figures


ROWS = [
    *(row(gap, p50) for gap, p50 in ((1000.0, 40.0), (None, 10.0), (20.0, 12.0), (5000.0, 200.0))),
    *(row(gap, 2 * gap, "ort-cpu") for gap in (20.0, 1000.0)),
]


def test_rows_that_differ_in_their_gap_alone_are_a_curve() -> None:
    (idle,) = idleness(ROWS)
    assert (idle.label, idle.gaps_us) == ("mlp", (0.0, 20.0, 1000.0, 5000.0))
    fake, ort = idle.curves
    assert (fake.label, ort.label) == ("fake", "ort-cpu")
    assert fake.points == (
        GapPoint(0.0, 10.0, 20.0),
        GapPoint(20.0, 12.0, 24.0),
        GapPoint(1000.0, 40.0, 80.0),
        GapPoint(5000.0, 200.0, None),
    )
    larger = [gap_row | {"axes": "batch=8"} for gap_row in ROWS]
    assert [idle.label for idle in idleness([*ROWS, *larger])] == ["mlp", "mlp · batch 8"]
    for few in ([], ROWS[1:3], [row(20.0, 1.0), row(50.0, 1.0), row(None, 1.0)]):
        assert idleness(few) == [], "two gaps are no curve"


def test_the_table_has_a_line_for_each_gap_and_none_for_what_was_not_measured() -> None:
    text = as_text(gap_tables(idleness(ROWS)), 100)
    lines = [line.split() for line in text.splitlines()[4:] if line.strip()]
    assert lines == [
        ["none", "10.0", "µs", "20.0", "µs", "-", "-"],
        ["20.0", "µs", "12.0", "µs", "24.0", "µs", "40.0", "µs", "80.0", "µs"],
        ["1.00", "ms", "40.0", "µs", "80.0", "µs", "2.00", "ms", "-"],
        ["5.00", "ms", "200", "µs", "-", "-", "-"],
    ]
    (figure,) = gap_figures(idleness(ROWS))
    curves = [[(mark.x, mark.y) for mark in series.marks] for series in figure.series]
    assert curves[:2] == [[(20, 12), (1000, 40), (5000, 200)], [(20, 24), (1000, 80)]]
    assert curves[2:] == [[(20, 40), (1000, 2000)], [(20, 80)]]


ALONE = Case("net.onnx", "ort-cpu")


TWO = replace(ALONE, options={"sessions": 2})


PLANS = {
    "replicas": (Plan(sweeps=(Sweep(models=("net.onnx",), replicas=(2,)),)), True),
    "offline": (Plan(sweeps=(Sweep(models=("net.onnx",), scenarios=("offline",)),)), True),
    "options": (Plan(sweeps=(Sweep(models=("net.onnx",)),)), False),
    "search": (Plan(tune="p50", sweeps=(Sweep(models=("net.onnx",)),)), False),
}


@pytest.mark.parametrize("name", PLANS)
def test_why_there_is_no_efficiency_is_told_who_asked_for_one(name: str, tmp_path: Path) -> None:
    plan, is_expected = PLANS[name]
    with RunFolder.create(tmp_path / "run", manifest_of((ALONE, TWO), 1)) as folder:
        record(folder, ALONE, 0, [100.0] * 30)
        record(folder, TWO, 0, [100.0] * 30, concurrency=2)
    rows = Rows().of(read_run(tmp_path / "run"))
    assert "its batch size varies or is unknown" in str(rows[1]["scaling_missing_reason"])
    text = as_text(scaling_tables((ALONE, TWO), rows, plan), 200)
    assert bool(text) == is_expected
    assert ("its batch size varies or is unknown" in text) == is_expected
    for low in (0.1, 0.08):
        scaling: Row = {"speedup": 1.0, "scaling_efficiency": 0.5, "replicas": 2}
        scaling |= {"scaling_efficiency_ci_low": low, "scaling_efficiency_ci_high": 0.9}
        measured = [rows[0], {**rows[1], **scaling, "scaling_missing_reason": None}]
        text = as_text(scaling_tables((ALONE, TWO), measured, PLANS["replicas"][0]), 200)
        assert ("90%" in text, TOO_NOISY in text) == (low == 0.1, low < 0.1), "a factor of ten"
