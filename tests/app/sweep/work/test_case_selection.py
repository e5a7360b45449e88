"""A budget that is too small for all cases gives enough rounds to some of them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.scenario import Scenario
from app.sweep.scheduling import grid, round_budget
from app.sweep.scheduling.case_selection import contests
from app.sweep.scheduling.grid import FixedSweep
from app.sweep.scheduling.round_budget import Budget, FixedRounds
from app.sweep.scheduling.round_jobs import Schedule
from app.sweep.work.base import Work
from app.sweep.work.export import ExportWork
from app.sweep.work.round import RoundWork
from exporters.messages import ExportReply
from exporters.types import ExportedModel
from tests.app.sweep.sweeps import SHORT, fake_case

MODELS = 5
RUNTIMES = 4
ROUNDS = 8
CASES = tuple(
    fake_case(f"{model}.onnx", latency_us=float(runtime))
    for model in range(MODELS)
    for runtime in range(1, RUNTIMES + 1)
)


@dataclass
class Clock:
    """A clock that goes as far as each round takes."""

    now_s: float = 1000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(round_budget, "time", clock)
    monkeypatch.setattr(grid, "time", clock)
    return clock


def measured(
    clock: Clock,
    model: ExportedModel,
    budget_s: float,
    seconds: dict[str, float],
    noise: random.Random | None = None,
    slow_pass: float = 1.0,
) -> list[tuple[str, int]]:
    """The rounds in their order. Each takes `seconds` of its case, with a spread of 30 % where
    there is noise, and `slow_pass` times as long in the first pass."""
    limits = replace(SHORT, min_s=0.2)
    schedule = Schedule(CASES, ROUNDS, limits, 60.0, 5, Path("samples"), budget=Budget(budget_s))
    sweep = FixedSweep(schedule, {}, FixedRounds(ROUNDS))
    rounds: list[tuple[str, int]] = []
    finished: list[Work] = []
    while (work := sweep.next(finished)) is not None:
        finished = [work]
        if isinstance(work, ExportWork):
            work.reply = ExportReply("ok", model, "")
        elif isinstance(work, RoundWork):
            key = work.job.case_id, work.job.round
            duration_s = seconds[key[0]] * (slow_pass if key[1] == 0 else 1.0)
            clock.now_s += duration_s * (noise.lognormvariate(0.0, 0.3) if noise else 1.0)
            work.result = RoundResult(*key, status="ok")
            rounds.append(key)
    return rounds


def counts_by_model(rounds: list[tuple[str, int]]) -> list[list[int]]:
    counts = Counter(case_id for case_id, _ in rounds)
    return [[counts[case.case_id] for case in group] for group in contests(CASES)]


def test_a_budget_for_all_leaves_out_none(clock: Clock, model: ExportedModel) -> None:
    seconds = {case.case_id: 1.0 for case in CASES}
    rounds = measured(clock, model, 1000.0, seconds)
    assert sorted(rounds) == sorted((case.case_id, n) for case in CASES for n in range(ROUNDS))


def test_a_small_budget_gives_the_first_models_the_rounds_of_a_verdict(
    clock: Clock, model: ExportedModel
) -> None:
    """Twenty rounds of the first pass leave 40 s: four more of the first two models take 32."""
    rounds = measured(clock, model, 60.0, {case.case_id: 1.0 for case in CASES})
    counts = counts_by_model(rounds)
    assert [min(group) for group in counts[:2]] == [5, 5]
    assert all(min(group) >= 1 for group in counts), "each case has a figure"


def test_models_come_back_when_the_machine_is_faster_than_it_seemed(
    clock: Clock, model: ExportedModel
) -> None:
    """A first pass of 100 s looks as if one model fitted; later rounds take 1 s instead of 5."""
    rounds = measured(clock, model, 230.0, {case.case_id: 1.0 for case in CASES}, slow_pass=5.0)
    assert all(min(group) >= 3 for group in counts_by_model(rounds))


@pytest.mark.parametrize("seed", range(40))
def test_each_case_that_is_kept_has_three_rounds(
    clock: Clock, model: ExportedModel, seed: int
) -> None:
    """Rounds take 1 to 8 s of slow start-up; the budget is enough for the first pass and three
    rounds of the first model."""
    draw = random.Random(seed)
    seconds = {case.case_id: draw.uniform(1.0, 8.0) for case in CASES}
    first_pass_s = sum(seconds.values())
    budget_s = first_pass_s * draw.uniform(2.0, 9.0)
    begun_s = clock.now_s
    rounds = measured(clock, model, budget_s, seconds, noise=draw)
    counts = counts_by_model(rounds)
    kept = [group for group in counts if max(group) >= 3]
    assert kept, counts
    assert all(min(group) >= 3 for group in kept), counts
    assert clock.now_s - begun_s < budget_s + 8.0 * 3, "what has begun may end"
    order = [number for _, number in rounds]
    assert order[: len(CASES)] == [0] * len(CASES), "rounds alternate"


def test_cases_of_one_model_on_one_clock_are_one_contest() -> None:
    simulated = Case("a.onnx", "fpga:v80")
    paced = replace(simulated, scenario=Scenario.parse("paced:20us"))
    cases = [Case("a.onnx", "ort-cpu"), simulated, Case("b.onnx", "ort-cpu"), paced]
    rival = Case("a.onnx", "fake")
    assert contests([*cases, rival]) == [(cases[0], rival), *((case,) for case in cases[1:])]


@pytest.mark.parametrize("slow", range(MODELS))
def test_the_slowest_comparison_is_set_aside_first(
    clock: Clock, model: ExportedModel, slow: int
) -> None:
    """The first pass takes 56 s; four more rounds of the other models take 64 of the 84 left."""
    groups = contests(CASES)
    seconds = {case.case_id: 1.0 for case in CASES} | {c.case_id: 10.0 for c in groups[slow]}
    counts = counts_by_model(measured(clock, model, 140.0, seconds))
    assert all(min(group) >= 5 for place, group in enumerate(counts) if place != slow)
    assert counts[slow] == [1] * RUNTIMES
