"""Verdicts of the mean and of the throughput: their direction, and which figures are judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.analysis.columns.reference_cases import compare_with_baseline
from app.analysis.columns.rows import Rows
from app.analysis.comparison.judge import Comparison
from app.analysis.comparison.pairing import RunVariations
from app.cases.case import Case, identity_of
from app.cases.errors import PlanError
from app.cases.objectives import JUDGED
from app.cases.process_settings import ProcessSettings
from app.plan.plan import parse_plan
from app.present.console.regression_gate import OK, SLOWER, code
from app.run_folder.folder import RunFolder
from app.run_folder.journal import ModelExported
from app.run_folder.run import Run
from app.runs.history.run_comparison import compare_runs, side_of
from app.runs.reader import read_run
from app.stats.verdict import NO_RUN_VARIATION, STATED, RunVariation
from tests.app.analysis.columns.filled import MODEL
from tests.app.run_folder.runs import ENVIRONMENT, manifest_of, record

BASE, OTHER = (Case("net", name, axes={"batch": 1}) for name in ("ort-cpu", "torch-cpu"))
ROUNDS = 8


def run_of(
    path: Path, medians: float = 1.0, tail: float = 1.0, judge: tuple[str, ...] = JUDGED
) -> Run:
    """Both cases in turn, the other with these factors on all runs, and on the slowest in 200."""
    manifest = manifest_of((BASE, OTHER), ROUNDS)
    settings = {"baseline": BASE.runtime, "judge": list(judge)}
    manifest = replace(manifest, plan={**manifest.plan, **settings})
    rng = np.random.default_rng(7)
    with RunFolder.create(path, manifest) as folder:
        folder.begin(ENVIRONMENT)
        folder.record(ModelExported(BASE.model, BASE.precision, replace(MODEL, axes={"batch": 1})))
        for number in range(ROUNDS):
            level = 100.0 * np.exp(0.2 * rng.standard_normal())
            for case, factor, slow in ((BASE, 1.0, 1.0), (OTHER, medians, tail)):
                latencies = factor * level * (1.0 + 0.02 * rng.random(1000))
                latencies[::200] *= 10.0 * slow
                record(folder, case, number, latencies.tolist(), concurrency=1)
    return read_run(path)


def compared(run: Run) -> Comparison:
    comparison = compare_with_baseline(run.manifest.requested_plan, Rows().measured(run), "run")
    assert comparison is not None
    return comparison


def words(comparison: Comparison) -> dict[str, str]:
    (case,) = comparison.cases
    return {name: sides.verdict.word for name, sides in case.percentiles.items()}


def test_less_throughput_is_slower_and_has_a_ratio_below_one(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", medians=1.3, judge=("mean", "throughput"))
    comparison = compared(run)
    assert words(comparison) == {"mean": "slower", "throughput": "slower"}
    (case,) = comparison.cases
    mean, throughput = case.percentiles["mean"], case.percentiles["throughput"]
    assert (mean.unit, throughput.unit) == ("us", "per_s")
    assert throughput.ratio == pytest.approx(1.0 / 1.3, rel=0.02)
    assert throughput.verdict.interval is not None
    assert throughput.verdict.interval.low < throughput.ratio < throughput.verdict.interval.high < 1
    assert throughput.first == pytest.approx(1e6 / mean.first, rel=1e-6)
    assert (code(comparison, "slower"), code(comparison, "")) == (SLOWER, OK)
    row = Rows().of(run)[1]
    assert row["baseline_throughput_verdict"] == row["baseline_mean_verdict"] == "slower"
    assert row["baseline_throughput_ratio"] == pytest.approx(1.0 / 1.3, rel=0.02)
    assert row["baseline_p50_verdict"] is None


@pytest.mark.parametrize(
    ("medians", "tail", "expected", "exit_code"),
    [
        (0.7, 1.0, {"throughput": "faster"}, OK),
        (1.0, 6.0, {"p50": "same", "mean": "slower"}, SLOWER),
    ],
    ids=["more throughput", "a slower tail"],
)
def test_more_throughput_is_faster_and_a_slower_tail_is_found_in_the_mean(
    tmp_path: Path, medians: float, tail: float, expected: dict[str, str], exit_code: int
) -> None:
    comparison = compared(run_of(tmp_path / "run", medians, tail, judge=tuple(expected)))
    assert words(comparison) == expected
    assert code(comparison, "slower") == exit_code


def test_two_runs_are_judged_by_what_was_asked_for(tmp_path: Path) -> None:
    first = side_of(run_of(tmp_path / "a"))
    second = side_of(run_of(tmp_path / "b", 1.5, judge=("throughput",)))
    by_plan = compare_runs(first, second)
    asked = ProcessSettings(huge_pages=True)
    by_choice = compare_runs(first, replace(second, asked=asked), judge=("mean", "p50"))
    assert set(by_choice.environment) - set(by_plan.environment) == {
        ("huge_pages", "False", "True")
    }
    slower = next(case for case in by_plan.cases if case.percentiles["throughput"].ratio < 0.8)
    assert set(slower.percentiles) == {"throughput"}
    verdict = slower.percentiles["throughput"].verdict
    assert (verdict.word, verdict.reason) == ("undecided", NO_RUN_VARIATION)
    assert {name for case in by_choice.cases for name in case.percentiles} == {"mean", "p50"}


def test_a_variation_from_run_to_run_is_that_of_one_machine(tmp_path: Path) -> None:
    measured, _ = Rows().measured(run_of(tmp_path / "run"))
    here, there = (
        replace(measured, row={**measured.row, "host": name}) for name in ("here", "there")
    )
    known = RunVariation(0.01, 9.0, "history")
    key = (identity_of(here.case), "p50", str(here.row["clock"]), "here", "a processor")
    variations = RunVariations({key: known}, cpus={"here": "a processor"})
    assert variations.of(here, here, "p50") is known
    assert variations.of(there, here, "p50") is STATED
    assert variations.of(here, there, "p50") is STATED


@pytest.mark.parametrize("names", [["p42"], ["latency"], ["p50", "p50"], [], ["p99", ""]])
def test_what_is_no_figure_of_the_rows_is_refused(names: list[str]) -> None:
    with pytest.raises(PlanError) as exc_info:
        parse_plan({"sweeps": [{"models": ["mlp"]}], "judge": names}, "the plan")
    assert "metrics" in exc_info.value.cause and exc_info.value.remedy
    assert "judge" not in exc_info.value.cause, "one name for the key, that of today"
