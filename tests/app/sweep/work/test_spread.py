"""Passes that wait for each other: when they begin, what a budget and a resume make of it, and that
a wait ends when the sweep is stopped or paused."""

from __future__ import annotations

import time as real_time
from pathlib import Path

import pytest

from app.analysis.columns.rows import Rows
from app.cases.round import RoundResult
from app.cases.status import Status
from app.cases.telemetry import Interference
from app.plan.command_line import parse
from app.plan.options import plan_from_options
from app.plan.plan import parse_plan
from app.run_folder.folder import RunFolder
from app.run_folder.manifest import read_manifest
from app.runs.reader import read_run
from app.sweep.engine import Engine, Event, Finished, Paused
from app.sweep.run_creation import create_run, repeat
from app.sweep.scheduling import grid as fixed
from app.sweep.scheduling import round_budget
from app.sweep.scheduling.grid import FixedSweep
from app.sweep.scheduling.round_budget import Budget, FixedRounds, Spread
from app.sweep.scheduling.round_jobs import Schedule
from app.sweep.scheduling.run_scheduler import build_scheduler
from app.sweep.work import base
from app.sweep.work.base import WaitWork, Work
from app.sweep.work.export import ExportWork
from app.sweep.work.round import RoundWork
from exporters.messages import ExportReply
from exporters.types import ExportedModel
from tests.app.sweep.sweeps import IN_ROUNDS, SHORT, Clock, Given, fake_case, write_add_graph

CASES = tuple(fake_case(latency_us=float(number)) for number in range(1, 4))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (round_budget, fixed, base):
        monkeypatch.setattr(module, "time", clock)
    return clock


def begun_at(
    clock: Clock,
    model: ExportedModel,
    spread_s: float,
    rounds: int,
    round_s: float = 2.0,
    budget_s: float = 1e9,
    statuses: dict[str, dict[int, Status]] | None = None,
    contended_s: float = 0.0,
    first_contended: int = 0,
) -> list[tuple[int, float]]:
    """The number of each round and when it began, of a sweep whose rounds take so long. Other work
    takes the core from pass `first_contended` on."""
    schedule = Schedule(
        CASES, rounds, SHORT, 60.0, 5, Path("samples"), IN_ROUNDS,
        budget=Budget(budget_s), spread=Spread(spread_s, rounds, contended_s),
    )  # fmt: skip
    sweep = FixedSweep(schedule, statuses or {}, FixedRounds(rounds))
    began: list[tuple[int, float]] = []
    ended_work: list[Work] = []
    begun_s = clock.now_s
    while (work := sweep.next(ended_work)) is not None:
        ended_work = [work]
        if isinstance(work, ExportWork):
            work.reply = ExportReply("ok", model)
        elif isinstance(work, RoundWork):
            began.append((work.job.round, clock.now_s - begun_s))
            clock.now_s += round_s
            switches = 1000 if work.job.round >= first_contended else 0
            interference = Interference(round_s, involuntary_switches=switches)
            key = work.job.case.case_id, work.job.round
            work.result = RoundResult(*key, "ok", interference=interference)
        elif isinstance(work, WaitWork):
            assert sweep.next([]) is None, "nothing is begun while it lasts"
            clock.now_s = max(clock.now_s, work.due())
            assert work.advance() == "ended"
    return began


def test_the_passes_are_spread_and_every_case_is_in_each(
    clock: Clock, model: ExportedModel
) -> None:
    began = begun_at(clock, model, 120.0, 4)
    assert [number for number, _ in began] == [number for number in range(4) for _ in CASES]
    assert [start_s for _, start_s in began[:: len(CASES)]] == [0.0, 40.0, 80.0, 120.0]
    for spread_s in (0.0, 10.0):  # none, or rounds take longer: nothing waits
        began = begun_at(clock, model, spread_s, 3)
        assert [start_s for _, start_s in began] == [2.0 * n for n in range(9)]
    began = begun_at(clock, model, 600.0, 4, budget_s=60.0)
    assert len(began) == 4 * len(CASES), "all rounds fit, as they would without waiting"
    assert 30.0 < began[-1][1] <= 58.0, "and the time that is left is used"
    # A resumed run keeps the distances of what it lacks.
    statuses: dict[str, dict[int, Status]] = {case.case_id: {0: "ok", 1: "ok"} for case in CASES}
    began = begun_at(clock, model, 120.0, 4, statuses=statuses)
    assert began[:: len(CASES)] == [(2, 0.0), (3, 40.0)]


@pytest.mark.parametrize(
    ("first_contended", "begins_s"),
    [
        (0, [0.0, 200.0, 400.0, 600.0]),
        (2, [0.0, 40.0, 80.0, 600.0]),
        (3, [0.0, 40.0, 80.0, 120.0]),
        (4, [0.0, 40.0, 80.0, 120.0]),
    ],
)
def test_rounds_beside_other_work_are_spread_over_a_longer_time(
    clock: Clock, model: ExportedModel, first_contended: int, begins_s: list[float]
) -> None:
    began = begun_at(
        clock, model, 120.0, 4, contended_s=600.0, first_contended=first_contended, round_s=1.0
    )
    # The first round that shows other work has ended: a second of the rest is over.
    assert [begin_s for _, begin_s in began[:: len(CASES)]] == pytest.approx(begins_s, abs=2.0)


def test_passes_beyond_the_spread_keep_the_shorter_pace(clock: Clock) -> None:
    spread = Spread(120.0, 5, 600.0)
    assert spread.due_s(0) == clock.now_s
    spread.take(RoundResult("a", 0, "ok", interference=Interference(1.0, involuntary_switches=100)))
    dues = [spread.due_s(number) - clock.now_s for number in (1, 4, 5, 6)]
    assert dues == [150.0, 600.0, 630.0, 660.0]
    assert spread.left_s(1) == 600.0


@pytest.mark.parametrize("now", [False, True, None])
def test_a_wait_ends_when_the_sweep_is_stopped_or_paused(now: bool | None) -> None:
    work = WaitWork(real_time.monotonic() + 3600.0)
    with Engine(Given([work])) as engine:
        engine.poll(0.0)
        if now is None:
            engine.pause()
        else:
            engine.stop(now)
        events: list[Event] = []
        while not any(isinstance(event, Paused | Finished) for event in events):
            events += engine.poll(0.1)
    if now is None:
        assert work.over and work.was_interrupted, "it is taken up again"
    else:
        assert events[-1] == Finished(stopped=True)


@pytest.fixture
def graph(tmp_path: Path) -> str:
    return str(write_add_graph(tmp_path / "add.onnx"))


@pytest.mark.parametrize(
    ("flags", "seconds", "contended_s"),
    [
        (["--preset", "glance"], 0.0, 0.0),
        (["--preset", "standard"], 120.0, 600.0),
        (["--preset", "standard", "--spread", "0"], 0.0, 0.0),
        (["--preset", "standard", "--spread", "3m"], 180.0, 180.0),
        (["--preset", "glance", "--spread", "10m"], 600.0, 600.0),
    ],
)
def test_a_profile_has_a_spread_and_the_flag_replaces_it(
    graph: str, tmp_path: Path, flags: list[str], seconds: float, contended_s: float
) -> None:
    words = ["--headless", "--models", graph, "--runtimes", "fake", *flags]
    create_run(plan_from_options(parse(words)), tmp_path / "run").close()
    manifest = read_manifest(tmp_path / "run")
    assert (manifest.spread_s, manifest.contended_spread_s) == (seconds, contended_s)
    repeat(tmp_path / "run", tmp_path / "again").close()
    manifest = read_manifest(tmp_path / "again")
    assert (manifest.spread_s, manifest.contended_spread_s) == (seconds, contended_s)


def test_each_run_draws_its_own_arrivals_unless_its_plan_fixed_them(
    tmp_path: Path, graph: str
) -> None:
    def seed_of(name: str) -> int:
        return read_manifest(tmp_path / name).arrivals_seed

    grid = {"models": [graph], "runtimes": ["fake"]}
    for name, values in {"a": {}, "b": {}, "zero": {"seed": 0}, "fixed": {"seed": 7}}.items():
        create_run(parse_plan({"sweeps": [grid], **values}, "the plan"), tmp_path / name).close()
    assert seed_of("a") != seed_of("b")
    assert (seed_of("zero"), seed_of("fixed")) == (0, 7)
    for name, is_fresh in (("a", True), ("fixed", False)):
        with RunFolder.reopen(tmp_path / name) as folder:
            source = build_scheduler(folder, read_run(folder.path), Rows())
        assert source.rounds.schedule.arrivals_seed == seed_of(name), "resumed"
        repeat(tmp_path / name, tmp_path / f"again-{name}").close()
        assert (seed_of(f"again-{name}") != seed_of(name)) == is_fresh
