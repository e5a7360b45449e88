"""The order in which a plan's grid is measured, and what it leaves out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from app.cases.case import Case
from app.cases.round import RoundResult
from app.cases.scenario import Scenario
from app.cases.status import Status
from app.plan.plan import EMPTY
from app.sweep.scheduling import grid, round_budget, round_jobs
from app.sweep.scheduling.grid import FixedSweep
from app.sweep.scheduling.round_budget import Budget, FixedRounds, contests
from app.sweep.scheduling.round_jobs import Schedule
from app.sweep.work.base import Work
from app.sweep.work.export import ExportWork
from app.sweep.work.round import RoundWork, SettledRound
from exporters.messages import ExportReply
from exporters.types import ExportedModel
from runtimes.base import Unavailable
from tests.app.sweep.sweeps import IN_ROUNDS, SHORT, Clock, fake_case

CASES = tuple(fake_case(latency_us=float(n)) for n in range(1, 9))


def sweep_of(
    cases: tuple[Case, ...] = CASES,
    *,
    rounds: int = 3,
    seed: int = 5,
    results: Mapping[str, Mapping[int, Status]] | None = None,
) -> FixedSweep:
    schedule = Schedule(cases, rounds, SHORT, 60.0, seed, Path("samples"), IN_ROUNDS)
    return FixedSweep(schedule, results or {}, FixedRounds(rounds))


def run_through(
    sweep: FixedSweep,
    model: ExportedModel | None,
    statuses: Mapping[tuple[str, int], Status] | None = None,
) -> list[Work]:
    """Play the engine: every export gives `model`, every round ends as `statuses` says."""
    works: list[Work] = []
    ended_work: list[Work] = []
    while (work := sweep.next(ended_work)) is not None:
        works.append(work)
        ended_work = [work]
        if isinstance(work, ExportWork):
            ok = model is not None
            work.reply = ExportReply("ok" if ok else "export_failed", model, "" if ok else "no")
        elif isinstance(work, RoundWork):
            key = work.job.case.case_id, work.job.round
            work.result = RoundResult(*key, status=(statuses or {}).get(key, "ok"))
    return works


def rounds_in(works: list[Work]) -> list[tuple[str, int]]:
    rounds = [work.job for work in works if isinstance(work, RoundWork)]
    return [(job.case.case_id, job.round) for job in rounds]


def test_exports_come_first_each_model_once_and_with_every_point_of_the_axes(
    model: ExportedModel,
) -> None:
    points = [{"n": 1}, {"n": 2}, {"n": 1}]
    cases = [
        replace(CASES[0], axes=axes, threads=threads) for threads, axes in enumerate(points, 1)
    ]
    sweep = sweep_of((*cases, replace(CASES[0], model="other.onnx")))
    jobs = run_through(sweep, model)
    first, second, *others = jobs
    assert isinstance(first, ExportWork) and isinstance(second, ExportWork)
    assert first.request.points == ({"n": 1}, {"n": 2})
    assert all(isinstance(job, RoundWork) for job in others)
    sweep = sweep_of()
    assert isinstance(sweep.next([]), ExportWork)
    assert sweep.next([]) is None, "no job starts while an export is in flight"


def test_rounds_interleave_so_that_drift_hits_all_cases_alike(model: ExportedModel) -> None:
    order = rounds_in(run_through(sweep_of(), model))
    size = len(CASES)
    blocks = [order[i : i + size] for i in range(0, len(order), size)]
    assert [{n for _, n in block} for block in blocks] == [{0}, {1}, {2}]
    assert [c for c, _ in blocks[0]] != [c for c, _ in blocks[1]], "each block is shuffled anew"


@pytest.mark.parametrize("status", ["crashed", "timeout", "wrong_output", "unavailable"])
def test_a_case_that_failed_gets_no_further_rounds_and_the_others_keep_their_order(
    model: ExportedModel, status: Status
) -> None:
    failing = CASES[3].case_id
    left = rounds_in(run_through(sweep_of(), model, {(failing, 0): status}))
    whole = rounds_in(run_through(sweep_of(), model))
    assert left == [(case_id, n) for case_id, n in whole if case_id != failing or n == 0]


@pytest.mark.parametrize(("budget_s", "begins"), [(5.0, False), (9.0, True)])
def test_a_set_of_which_only_a_part_would_end_in_time_is_not_begun(
    model: ExportedModel, budget_s: float, begins: bool
) -> None:
    cases, plan = CASES[:2], EMPTY
    schedule = Schedule(cases, 3, SHORT, 60.0, 5, Path("samples"), plan, budget=Budget(budget_s))
    sweep = FixedSweep(schedule, {case.case_id: {0: "ok"} for case in cases}, FixedRounds(3))
    for case in cases:
        schedule.budget.learn(case.case_id, 3.0)
    export = sweep.next([])
    assert isinstance(export, ExportWork)
    export.reply = ExportReply("ok", model)
    work = sweep.next([export])
    assert isinstance(work, RoundWork) if begins else work is None


def test_a_resumed_sweep_measures_what_is_missing_and_nothing_else(model: ExportedModel) -> None:
    statuses: dict[str, dict[int, Status]] = {c.case_id: {0: "ok", 2: "ok"} for c in CASES}
    statuses[CASES[0].case_id] = {0: "crashed"}
    left = rounds_in(run_through(sweep_of(results=statuses), model))
    assert sorted(left) == sorted((case.case_id, 1) for case in CASES[1:])


def settled(works: list[Work]) -> list[RoundResult]:
    """What the rounds came to that ended without a process; there is no other round."""
    assert not rounds_in(works)
    return [work.result for work in works if isinstance(work, SettledRound)]


def test_a_case_that_can_not_be_measured_ends_with_a_reason_and_no_process(
    model: ExportedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = settled(run_through(sweep_of(), None))
    assert {result.case_id for result in results} == {case.case_id for case in CASES}
    assert {(r.status, r.reason) for r in results} == {("export_failed", "no")}
    works = run_through(sweep_of((fake_case(fail="unsupported"),)), model)
    assert ([type(work) for work in works]) == [ExportWork, SettledRound]
    (work,) = run_through(sweep_of((Case("mlp", "ort-cpu", precision="fp16"),)), None)
    (result,) = settled([work])
    assert result.status == "unsupported", "before any export"
    assert "fp16" in result.reason
    absent = Unavailable("no libfoo", "install foo")
    monkeypatch.setattr(round_jobs, "availability_of", lambda *_: absent)
    (work,) = run_through(sweep_of(CASES[:1]), None)
    (result,) = settled([work])
    assert (result.status, result.reason) == ("unavailable", "no libfoo: install foo")


MODELS = 5


RUNTIMES = 4


ROUNDS = 8


CONTENDERS = tuple(
    fake_case(f"{model}.onnx", latency_us=float(runtime))
    for model in range(MODELS)
    for runtime in range(1, RUNTIMES + 1)
)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(round_budget, "time", clock)
    monkeypatch.setattr(grid, "time", clock)
    return clock


def simulate(
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
    schedule = Schedule(
        CONTENDERS, ROUNDS, limits, 60.0, 5, Path("samples"), IN_ROUNDS, budget=Budget(budget_s)
    )
    sweep = FixedSweep(schedule, {}, FixedRounds(ROUNDS))
    rounds: list[tuple[str, int]] = []
    results: list[Work] = []
    while (work := sweep.next(results)) is not None:
        results = [work]
        if isinstance(work, ExportWork):
            work.reply = ExportReply("ok", model, "")
        elif isinstance(work, RoundWork):
            key = work.job.case.case_id, work.job.round
            duration_s = seconds[key[0]] * (slow_pass if key[1] == 0 else 1.0)
            clock.now_s += duration_s * (noise.lognormvariate(0.0, 0.3) if noise else 1.0)
            work.result = RoundResult(*key, status="ok")
            rounds.append(key)
    return rounds


def counts_by_model(rounds: list[tuple[str, int]]) -> list[list[int]]:
    counts = Counter(case_id for case_id, _ in rounds)
    return [[counts[case.case_id] for case in group] for group in contests(CONTENDERS)]


EACH_A_SECOND = {case.case_id: 1.0 for case in CONTENDERS}


@pytest.mark.parametrize(
    ("budget_s", "slow_pass", "least"),
    [
        (1000.0, 1.0, [ROUNDS] * MODELS),
        # Twenty rounds of the first pass leave 40 s: four more of the first two models take 32.
        (60.0, 1.0, [5, 5, 1, 1, 1]),
        # A first pass of 100 s looks as if one model fitted; later rounds take 1 s instead of 5.
        (230.0, 5.0, [3] * MODELS),
    ],
)
def test_a_budget_gives_the_first_models_the_rounds_of_a_verdict_and_each_case_a_figure(
    clock: Clock, model: ExportedModel, budget_s: float, slow_pass: float, least: list[int]
) -> None:
    rounds = simulate(clock, model, budget_s, EACH_A_SECOND, slow_pass=slow_pass)
    assert len(set(rounds)) == len(rounds)
    fewest = [min(group) for group in counts_by_model(rounds)]
    assert all(count >= wanted for count, wanted in zip(fewest, least, strict=True))
    if budget_s == 60.0:
        assert fewest[:2] == [5, 5]


@pytest.mark.parametrize("seed", range(40))
def test_each_case_that_is_kept_has_three_rounds(
    clock: Clock, model: ExportedModel, seed: int
) -> None:
    """Rounds take 1 to 8 s of slow start-up; the budget is enough for the first pass and three
    rounds of the first model."""
    draw = random.Random(seed)
    seconds = {case.case_id: draw.uniform(1.0, 8.0) for case in CONTENDERS}
    first_pass_s = sum(seconds.values())
    budget_s = first_pass_s * draw.uniform(2.0, 9.0)
    begun_s = clock.now_s
    rounds = simulate(clock, model, budget_s, seconds, noise=draw)
    counts = counts_by_model(rounds)
    groups = [group for group in counts if max(group) >= 3]
    assert groups, counts
    assert all(min(group) >= 3 for group in groups), counts
    assert clock.now_s - begun_s < budget_s + 8.0 * 3, "what has begun may end"
    order = [number for _, number in rounds]
    assert order[: len(CONTENDERS)] == [0] * len(CONTENDERS), "rounds alternate"


def test_cases_of_one_model_on_one_clock_are_one_contest() -> None:
    simulated = Case("a.onnx", "fpga:v80")
    real_time = replace(simulated, scenario=Scenario.parse("paced:20us"))
    cases = [Case("a.onnx", "ort-cpu"), simulated, Case("b.onnx", "ort-cpu"), real_time]
    rival = Case("a.onnx", "fake")
    assert contests([*cases, rival]) == [(cases[0], rival), *((case,) for case in cases[1:])]


@pytest.mark.parametrize("slow", range(MODELS))
def test_the_slowest_comparison_is_set_aside_first(
    clock: Clock, model: ExportedModel, slow: int
) -> None:
    """The first pass takes 56 s; four more rounds of the other models take 64 of the 84 left."""
    slow_cases = contests(CONTENDERS)[slow]
    seconds = EACH_A_SECOND | {case.case_id: 10.0 for case in slow_cases}
    counts = counts_by_model(simulate(clock, model, 140.0, seconds))
    assert all(min(group) >= 5 for place, group in enumerate(counts) if place != slow)
    assert counts[slow] == [1] * RUNTIMES
