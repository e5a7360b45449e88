"""Cases compared with themselves: wrong verdicts are counted, and what would be found is told."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.analysis.columns.rows import Rows
from app.analysis.comparison.aa_test import ALL, AAResult, aa_result
from app.present.console import run_comparison
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from app.stats.intervals import round_correlation
from app.stats.verdict import binomial_interval, smallest_change
from tests.app.run_folder.runs import CASE, ENVIRONMENT, OTHER, manifest_of, record

COMPARISONS, ROUNDS = 40, 4


def compared(
    path: Path, level: Callable[[int], float], rounds: int = 2 * ROUNDS * COMPARISONS
) -> AAResult:
    """CASE and OTHER with one level for each round's number, of so many rounds in all."""
    manifest = manifest_of((CASE, OTHER), 2 * ROUNDS * COMPARISONS)
    manifest = replace(manifest, plan={**manifest.plan, "aa": COMPARISONS})
    with RunFolder.create(path, manifest) as folder:
        folder.begin(ENVIRONMENT)
        for number in range(rounds):
            for case in (CASE, OTHER):
                level_us = level(number)
                record(folder, case, number, [level_us * (1 + k / 1e4) for k in range(-10, 11)])
    run = read_run(path)
    return aa_result(run, Rows().measured(run))


def test_a_noisy_machine_is_rarely_wrong_and_told_what_it_can_not_find(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    result = compared(tmp_path / "run", lambda _: 100.0 * math.exp(0.05 * rng.standard_normal()))
    assert (result.rounds, result.total) == (ROUNDS, COMPARISONS)
    assert {case.comparisons for case in (*result.cases, *result.overall)} == {COMPARISONS}
    everything = next(case for case in result.overall if case.percentile == ALL)
    assert everything.wrong <= 6, "5 % of 40 are 2, and 6 or fewer are had in 99 % of all runs"
    inflation = round_correlation([100.0, 101.0, 103.0, 102.0]).inflation
    error = inflation * 0.05 * math.sqrt(2 / ROUNDS)
    expected = smallest_change(error, ROUNDS - 1, inflation=inflation)
    for case in result.cases:
        assert case.smallest_change == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize(("rounds", "pairs"), [(2, 1), (4, 2)])
def test_two_pairs_of_rounds_are_enough_for_what_would_be_found(
    tmp_path: Path, rounds: int, pairs: int
) -> None:
    result = compared(tmp_path / "run", lambda number: 100.0 + number, rounds=rounds)
    assert result.cases
    assert all((case.smallest_change is None) == (pairs < 2) for case in result.cases)


def test_a_comparison_is_wrong_where_one_of_its_figures_is(tmp_path: Path) -> None:
    """Of two levels in turn all four pairs go one way in an eighth of the comparisons."""
    result = compared(tmp_path / "run", lambda number: 100.0 + 50.0 * (number % 2))
    most = max(case.wrong for case in result.cases)
    wrong = {total.percentile: total.wrong for total in result.overall}
    assert wrong[ALL] == wrong["p50"] >= most > 0


def test_a_pair_is_a_round_and_the_next(tmp_path: Path) -> None:
    result = compared(tmp_path / "run", lambda number: 100.0 * 1.5 ** (number // 2 % 7))
    assert {case.wrong for case in result.cases} == {0}
    assert all((case.smallest_change or 1.0) < 0.05 for case in result.cases)


def test_only_comparisons_with_all_rounds_count_and_the_table_has_each(tmp_path: Path) -> None:
    result = compared(tmp_path / "run", lambda number: 100.0 + number % 5, 2 * ROUNDS * 3 + 1)
    assert {entry.comparisons for entry in result.overall} == {3}
    assert {entry.label for entry in result.overall} == {"all cases"}
    lines = "\n".join(run_comparison.as_lines(result))
    assert "3 of 40 comparisons have all their rounds: resume the run" in lines
    rows = list(csv.DictReader(io.StringIO(run_comparison.as_csv(result))))
    assert [row["case_id"] for row in rows].count("") == len(result.overall) == 2
    assert {row["percentile"] for row in rows} == {"p50", "all"}, "21 runs tell no p99"
    document = run_comparison.as_json(result)
    assert document["comparisons_asked"] == COMPARISONS and document["rounds"] == ROUNDS
    for row, entry in zip(rows, [*document["cases"], *document["together"]], strict=True):
        assert float(row["wrong_share_ci_high"]) == entry["wrong_share_ci_high"]


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(0, 200, 0.0, 0.0183), (5, 100, 0.0164, 0.1128), (200, 200, 0.9817, 1.0), (0, 0, 0.0, 1.0)],
)
def test_the_interval_of_a_share_is_exact(count: int, of: int, low: float, high: float) -> None:
    """0 of n is below 1 - 0.025^(1/n); 5 of 100 is in every table of Clopper and Pearson."""
    interval = binomial_interval(count, of)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-5)
