"""The fastest runtime: named only where like is compared with like and all others are slower."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.analysis.columns.rows import Rows
from app.analysis.comparison.ranking import Fastest, _rounds_needed, fastest
from app.cases.case import Case
from app.cases.objectives import BAND
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from app.stats.verdict import CLOCK_CHANGED, Difference, Verdict
from app.sweep.scheduling.round_budget import SUFFICIENT_ROUNDS
from tests.app.run_folder.runs import ENVIRONMENT, Measured, manifest_of, measured_run, record

ORT, OV, TORCH = (Case("mlp", name) for name in ("ort-cpu", "openvino-cpu", "torch-cpu"))
QUICK, SLOW = [100.0, 101.0, 102.0], [150.0, 151.0, 152.0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run"


def measured(case: Case, medians_us: list[float], **facts: Any) -> Measured:
    """A round of 30 runs for each of the medians."""
    rounds = [[median * (1 + k / 1e4) for k in range(-15, 15)] for median in medians_us]
    return case, rounds, {"precision": "fp32", **facts}


def compared(path: Path, *all_of_them: Measured) -> list[Fastest]:
    return fastest(Rows().measured(measured_run(path, *all_of_them)), BAND)


def test_three_rounds_that_part_name_the_fastest_and_by_how_much(path: Path) -> None:
    (contest,) = compared(
        path, measured(OV, SLOW), measured(ORT, QUICK), measured(TORCH, [900.0] * 3)
    )
    assert (contest.label, contest.first, contest.second) == ("mlp", "ort-cpu", "openvino-cpu")
    assert contest.parted
    assert contest.times == pytest.approx(151 / 101, rel=1e-3)
    interval = contest.verdict.interval
    assert interval is not None
    assert 1.4 < interval.low < 151 / 101 < interval.high < 1.6


@pytest.mark.parametrize(
    ("first", "second", "word"),
    [
        (QUICK[:2], [900.0, 901.0], "undecided"),
        ([80.0, 100.0, 120.0], [120.1, 80.1, 100.1], "undecided"),
        ([80.0, 100.0, 120.0], [80.1, 100.1, 120.1], "same"),
    ],
    ids=["two rounds", "they hardly differ", "they slow down together"],
)
def test_what_decides_nothing_and_is_not_worth_more_rounds(
    path: Path, first: list[float], second: list[float], word: str
) -> None:
    (contest,) = compared(path, measured(ORT, first), measured(OV, second))
    assert (contest.parted, contest.first, contest.rounds) == (False, "ort-cpu", len(first))
    assert contest.verdict.word == word
    assert word == "same" or len(first) < 3 or contest.needed is None


def test_rounds_that_overlap_are_undecided_and_more_of_them_may_decide(path: Path) -> None:
    (contest,) = compared(
        path, measured(ORT, [99.0, 100.0, 101.0]), measured(OV, [110.0, 104.0, 107.0])
    )
    assert not contest.parted
    assert contest.needed is not None
    assert contest.needed > contest.rounds == 3
    near = Difference(0.0, 1e-4, 9, in_turn=True)
    assert _rounds_needed(Verdict("undecided", None, None, "", difference=near), 0.02) == 11


def test_the_nearest_rival_that_is_not_slower_is_told(path: Path) -> None:
    (contest,) = compared(
        path,
        measured(ORT, [99.0, 100.0, 101.0]),
        measured(OV, [110.0, 110.1, 110.2]),
        measured(TORCH, [80.0, 115.0, 160.0]),
    )
    assert (contest.parted, contest.first, contest.second) == (False, "ort-cpu", "torch-cpu")


def test_a_simulated_latency_is_never_compared_with_a_wall_time(path: Path) -> None:
    card = {"clock": "simulated", "precision": "bf16"}
    rows = [measured(Case("mlp", name), [2.0] * 3, **card) for name in ("fpga:v80", "fpga:ia-840f")]
    wall, simulated = compared(path, measured(ORT, QUICK), measured(OV, SLOW), *rows)
    assert wall.second == "openvino-cpu"
    assert {simulated.first, simulated.second} == {"fpga:v80", "fpga:ia-840f"}
    assert (wall.simulated, simulated.simulated) == (False, True)
    assert wall.label != simulated.label


def test_hosts_compete_by_what_they_timed(path: Path) -> None:
    card = Case("mlp", "fpga:v80")
    simulated = {"clock": "simulated", "precision": "bf16"}
    (contest,) = compared(
        path,
        *(measured(replace(ORT, host=host), us) for host, us in (("a", QUICK), ("b", SLOW))),
        *(measured(replace(card, host=h), [us] * 3, **simulated) for h, us in (("a", 2), ("b", 3))),
    )
    assert (contest.label, contest.first, contest.second) == ("mlp · ort-cpu", "on a", "on b")


def test_threads_sizes_and_precision_are_compared_each_with_its_like(path: Path) -> None:
    two_threads = [replace(case, threads=2) for case in (ORT, OV)]
    contests = compared(
        path,
        *(measured(case, QUICK) for case in (ORT, two_threads[0])),
        *(measured(case, SLOW) for case in (OV, two_threads[1])),
        measured(replace(OV, precision="int8"), [1.0] * 3, precision="int8"),
    )
    assert [contest.label for contest in contests] == ["mlp · threads 1", "mlp · threads 2"]
    assert all(contest.first == "ort-cpu" for contest in contests)


def test_options_of_one_runtime_compete_too_and_a_wrong_row_wins_nothing(path: Path) -> None:
    off = {"graph_optimization": "off"}
    wrong = measured(OV, [1.0] * 3, status="wrong_output")
    slow = measured(replace(ORT, options=off), SLOW, options=off)
    (contest,) = compared(path, measured(ORT, QUICK), slow, wrong)
    assert (contest.first, contest.second) == ("ort-cpu", "ort-cpu graph_optimization=off")


def test_rows_of_one_gpu_at_different_clocks_are_not_ranked(path: Path) -> None:
    compared(path, measured(ORT, QUICK), measured(OV, SLOW))
    rows = [
        replace(case, row={**case.row, "gpu_clock_mhz": clock, "gpu_uuid": "GPU-a"})
        for case, clock in zip(Rows().measured(read_run(path)), (1980.0, 1755.0), strict=True)
    ]
    (result,) = fastest(rows, BAND)
    assert (result.parted, result.verdict.reason) == (False, CLOCK_CHANGED)


MODELS = 5
RUNTIMES = ("ort-cpu", "openvino-cpu", "torch-cpu")
NOISE = 0.3
"""Standard deviation of the logarithm of a round's level."""


@pytest.mark.parametrize(("ratio", "is_decided"), [(3.0, True), (1.0, False)])
def test_a_winner_is_named_where_runtimes_are_apart(
    tmp_path: Path, ratio: float, is_decided: bool
) -> None:
    draw = np.random.RandomState(29)
    cases = [Case(f"network_{m}", runtime) for m in range(MODELS) for runtime in RUNTIMES]
    with RunFolder.create(tmp_path / "run", manifest_of(cases, SUFFICIENT_ROUNDS)) as folder:
        folder.begin(ENVIRONMENT)
        for number in range(SUFFICIENT_ROUNDS):
            for case in cases:
                level = 100.0 * (1.0 if case.runtime == RUNTIMES[0] else ratio)
                level *= np.exp(NOISE * draw.standard_normal())
                runs = level * (1.0 + 0.05 * np.abs(draw.standard_normal(200)))
                record(folder, case, number, runs.tolist())
    contests = fastest(Rows().measured(read_run(tmp_path / "run")), band=0.02)
    assert [contest.parted for contest in contests] == [is_decided] * MODELS
    if is_decided:
        assert {contest.first for contest in contests} == {RUNTIMES[0]}
