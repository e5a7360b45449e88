"""Replicas whose throughput is not known: the reason in plain words, and only where asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.cases.case import Case
from app.cases.column import Row
from app.columns.rows import Rows
from app.console.scaling import scaling_tables
from app.formatting.text import TOO_NOISY
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from app.present.terminal import as_text
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.run_folder.runs import manifest_of, record

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
    text = printed((ALONE, TWO), rows, plan)
    assert bool(text) == is_expected
    if is_expected:
        assert "its batch size varies or is unknown" in text


@pytest.mark.parametrize(("low", "is_shown"), [(0.1, True), (0.08, False)])
def test_an_efficiency_of_more_than_a_factor_of_ten_has_no_interval(
    low: float, is_shown: bool, tmp_path: Path
) -> None:
    plan, _ = PLANS["replicas"]
    with RunFolder.create(tmp_path / "run", manifest_of((ALONE, TWO), 1)) as folder:
        record(folder, ALONE, 0, [100.0] * 30)
        record(folder, TWO, 0, [100.0] * 30, concurrency=2)
    alone, two = Rows().of(read_run(tmp_path / "run"))
    ends = {"scaling_efficiency_ci_low": low, "scaling_efficiency_ci_high": 0.9}
    scaling_values = {
        "speedup": 1.0,
        "scaling_efficiency": 0.5,
        "replicas": 2,
        "scaling_missing_reason": None,
    }
    text = printed((ALONE, TWO), (alone, {**two, **scaling_values, **ends}), plan)
    assert ("90%" in text) == is_shown
    assert (TOO_NOISY in text) != is_shown


def printed(cases: Sequence[Case], rows: Sequence[Row], plan: Plan) -> str:
    return as_text(scaling_tables(cases, rows, plan), 200)
