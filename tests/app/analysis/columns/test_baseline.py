"""The verdicts of a run against its own baseline: which rounds are a pair, and what has none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.analysis.columns.reference_cases import compare_with_baseline
from app.analysis.columns.rows import Rows
from app.analysis.comparison.judge import Comparison
from app.cases.case import Case
from app.cases.column import Row
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, measured_run, record

BASE, OTHER = Case("mlp", "ort-cpu"), Case("mlp", "torch-cpu")
LEVELS = (100.0, 160.0, 90.0, 250.0, 120.0, 180.0)
"""A machine whose rounds differ much, all cases of a round alike."""


def compared(
    path: Path, base: Mapping[int, float], other: Mapping[int, float], **facts: Any
) -> tuple[Comparison, list[Row]]:
    """A run of both with these levels by round; `facts` are of what is not the baseline."""
    manifest = manifest_of((BASE, OTHER), len(LEVELS))
    manifest = replace(manifest, plan={**manifest.plan, "baseline": BASE.runtime})
    with RunFolder.create(path, manifest) as folder:
        folder.begin(ENVIRONMENT)
        for case, levels, round_facts in ((BASE, base, {}), (OTHER, other, facts)):
            for number, level in levels.items():
                record(
                    folder, case, number, [level * (1 + k / 1e4) for k in range(30)], **round_facts
                )
    run = read_run(path)
    rows = Rows().measured(run)
    comparison = compare_with_baseline(run.manifest.requested_plan, rows, "run")
    assert comparison is not None
    return comparison, [row_case.row for row_case in rows]


def test_rounds_of_one_number_are_a_pair_though_others_are_missing(tmp_path: Path) -> None:
    """What is undecided says why in its row."""
    base = dict(enumerate(LEVELS))
    other = {number: 1.1 * level for number, level in base.items() if number != 0}
    comparison, (_, row) = compared(tmp_path / "run", base, other)
    assert row["baseline_p50_ratio"] == pytest.approx(1.1, rel=1e-4), "kept in whole ns"
    assert row["baseline_p50_verdict"] == "slower"
    assert row["baseline_case_id"] == BASE.case_id
    assert [case.label for case in comparison.cases_with("slower")] == ["mlp · torch-cpu"]
    _, (_, row) = compared(tmp_path / "other", base, dict(enumerate(LEVELS[::-1])))
    assert row["baseline_p50_verdict"] == "undecided"
    assert str(row["baseline_verdict_reason"]).startswith("p50: would find a change of ")


@pytest.mark.parametrize(
    ("facts", "reason", "why"),
    [
        ({"clock": "simulated"}, "other_clock", "the clock is simulated, the baseline's wall"),
        (
            {"status": "wrong_output", "reason": "off by 2"},
            "wrong_output",
            "wrong_output: off by 2",
        ),
    ],
)
def test_what_can_not_be_compared_has_no_verdict_and_a_reason(
    tmp_path: Path, facts: dict[str, str], reason: str, why: str
) -> None:
    base = dict(enumerate(LEVELS))
    comparison, rows = compared(tmp_path / "run", base, base, **facts)
    assert not comparison.cases
    (missing_case,) = comparison.not_compared
    assert (missing_case.label, missing_case.reason, missing_case.detail) == (
        "mlp · torch-cpu",
        reason,
        why,
    )
    assert not any(row["baseline_case_id"] for row in rows)


C, PYTHON = "a call, timed in C", "a call, timed in Python"
RELEASE, PYTHON_LOOP = (
    Case("mlp", "ort-cpu@1.20"),
    Case("mlp", "ort-cpu", options={"call": "python"}),
)


@pytest.mark.parametrize(
    ("base", "other", "calls", "option"),
    [
        (RELEASE, BASE, ("run_with_iobinding, timed in Python", C), "ort-cpu.call=python"),
        (BASE, RELEASE, (C, "run_with_iobinding, timed in Python"), "ort-cpu.call=python"),
        (BASE, OTHER, (C, PYTHON), "ort-cpu.call=python"),
        (RELEASE, PYTHON_LOOP, (C, PYTHON), "ort-cpu.call=python"),
        (RELEASE, BASE, ("a call of 1.20, timed in C", C), None),
        (BASE, OTHER, ("another call, timed in C", C), None),
        (RELEASE, BASE, (PYTHON, PYTHON), None),
        (PYTHON_LOOP, BASE, (PYTHON, C), None),
    ],
)
def test_a_verdict_needs_one_call_on_both_sides_or_a_loop_that_is_compared(
    tmp_path: Path, base: Case, other: Case, calls: tuple[str, str], option: str | None
) -> None:
    """`option` is what the reason names; None where there is a verdict."""
    rounds = [[100.0 + number] * 30 for number in range(3)]
    sides = zip(
        (base, other), (rounds, rounds), ({"call_path": call} for call in calls), strict=True
    )
    baseline = "ort-cpu.call=python" if base == PYTHON_LOOP else base.runtime
    run = measured_run(tmp_path / "run", *sides, baseline=baseline)
    comparison = compare_with_baseline(run.manifest.requested_plan, Rows().measured(run), "run")
    assert comparison is not None
    assert bool(comparison.cases) == (option is None)
    if option is not None:
        (missing_case,) = comparison.not_compared
        assert missing_case.reason == "other_call"
        assert f"--option {option}" in missing_case.detail
