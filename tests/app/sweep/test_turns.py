"""Processes that take turns: one runs at a time, ends between two runs, and none is left halted."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import psutil
import pytest

from app.analysis.columns.rows import Rows
from app.analysis.comparison.ranking import fastest
from app.cases.case import Case
from app.cases.round import MEASURED, RoundResult
from app.cases.turns import FIRST_GROUP, STATE, TURN_SET, TurnStart, every_of
from app.plan.command_line import parse
from app.plan.expand import expand
from app.plan.options import plan_from_options
from app.run_folder.run import Run, read_records
from app.runs.reader import read_run
from app.stats.verdict import STATES_DIFFER
from app.sweep.scheduling.round_jobs import Schedule
from app.sweep.scheduling.turns import takes_turns, turn_groups
from tests.app.cli.headless.batch import run
from tests.app.sweep.remote.processes import wait_until
from tests.app.sweep.sweeps import SHORT, write_add_graph
from tests.checkout import ROOT

pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture
def graph(tmp_path: Path) -> str:
    return str(write_add_graph(tmp_path / "add.onnx"))


def measured(graph: str, folder: Path, *words: str, code: int = 0) -> Run:
    plan = ("--headless", "--models", graph, "--runtimes", "fake", "--preset", "glance")
    assert run(*plan, *words, "--out", str(folder))[0] == code
    return read_run(folder)


def by_set(run: Run) -> dict[str, list[RoundResult]]:
    """The rounds of each set of processes that took turns."""
    sets: dict[str, list[RoundResult]] = {}
    for case in run.cases:
        for result in run.rounds_of(case):
            if TURN_SET in result.facts:
                sets.setdefault(str(result.facts[TURN_SET]), []).append(result)
    return sets


def turns_of(run: Run, rounds: list[RoundResult]) -> list[tuple[int, int, int]]:
    """Begin, end and place of the round, in order of time; no two of them overlap."""
    turns = []
    for number, result in enumerate(rounds):
        records = read_records(run.samples_path(result))
        is_measured = records["phase"] == MEASURED
        edges = np.flatnonzero(np.diff(is_measured.astype(int), prepend=0, append=0))
        for first, last in zip(edges[::2], edges[1::2], strict=True):
            begin, end = records["started_ns"][first], records["finished_ns"][last - 1]
            turns.append((int(begin), int(end), number))
    turns.sort()
    assert all(end <= start for (_, end, _), (start, _, _) in pairwise(turns))
    return turns


def assert_apart(run: Run, rounds: list[RoundResult]) -> None:
    """No run of one process lies within another's turn, and turns go round."""
    turns = turns_of(run, rounds)
    counts = [sum(number == turn[2] for turn in turns) for number in range(len(rounds))]
    assert max(counts) - min(counts) <= 1 and min(counts) > 5
    assert all(result.iterations >= 4 * count for result, count in zip(rounds, counts, strict=True))


def test_one_process_of_a_comparison_runs_at_a_time(graph: str, tmp_path: Path) -> None:
    """Those with two threads are halted between their turns."""
    words = ("--option", "fake.latency_us=100,150", "--threads", "1,2", "--rounds", "3")
    run = measured(graph, tmp_path / "run", *words, "--baseline", "fake.latency_us=100")
    sets = by_set(run)
    # The first round of one case opens the run, before its outputs can be checked.
    assert sorted(map(len, sets.values()))[1:] == [4, 4]
    for rounds in sets.values():
        assert_apart(run, rounds)
    rows = [measurement.row for measurement in Rows().measured(run)]
    ratios = [row["baseline_p50_ratio"] for row in rows if row["baseline_p50_ratio"] is not None]
    assert len(ratios) == 2 and all(1.4 < float(str(ratio)) < 1.6 for ratio in ratios)
    assert {str(row["pairing"]) for row in rows} >= {"turns"}


TWO = "--option", "fake.latency_us=100,150"
"""Whose turns are of 5 ms, also where runs take twice as long."""


@pytest.mark.parametrize(("words", "seats"), [(TWO, 2), ((), 1)])
def test_cases_that_are_not_compared_share_all_passes_but_the_first(
    tmp_path: Path, words: tuple[str, ...], seats: int
) -> None:
    paths = [str(write_add_graph(tmp_path / f"{name}.onnx")) for name in "abc"]
    run = measured(",".join(paths), tmp_path / "run", *words, "--rounds", "2")
    groups = list(by_set(run).values())
    assert sorted(map(len, groups)) == [seats] * (6 if seats > 1 else 3)
    rounds = [result for group in groups for result in group if result.round == 1]
    assert len(rounds) == 3 * seats
    turns = turns_of(run, rounds)
    begin, end = turns[0][0], turns[-1][1]
    for group in range(3):
        own = [turn for turn in turns if turn[2] // seats == group]
        share = (own[-1][1] - own[0][0]) / (end - begin)
        assert share > 0.5, "one after another each has a third of the pass"


def test_more_than_eight_are_dealt_in_equal_parts(tmp_path: Path) -> None:
    cases = [Case("add.onnx", "fake", options={"latency_us": 100.0 + n}) for n in range(17)]
    schedule = Schedule(cases, 1, SHORT, 60.0, 0, tmp_path)
    groups = turn_groups(schedule, [*cases, Case("other.onnx", "fake")])
    assert sorted(map(len, groups)) == [1, 5, 6, 6]
    assert sorted(sum(groups, ()), key=str) == sorted([*cases, Case("other.onnx", "fake")], key=str)


def test_turns_of_long_runs_come_less_often_and_those_of_short_ones_always() -> None:
    assert every_of([0.005, 0.006, 0.0099]) == (1, 1, 1)
    assert every_of([0.02, 0.024, 0.4, 9.0]) == (1, 1, 8, 16)
    groups, laps, every = (0, 0, 7, 7), (1, 1, 2, 2), (1, 2, 1, 2)
    start = TurnStart((0, 1, 3, 4), (1, 2, 3, 4), groups, laps, every)
    orders = [start.order("a", lap) for lap in range(8)]
    assert [sorted(order) for order in orders] == [[0, 1, 3, 4], [0], [0, 1, 3], [0]] * 2
    assert [start.order("a", lap) for lap in range(8)] == orders
    assert all({*order[:2]} in ({0, 1}, {3, 4}) for order in orders if len(order) == 4), orders


def test_rounds_follow_one_another_where_turns_are_not_wanted_or_not_possible(
    graph: str, tmp_path: Path
) -> None:
    words = ("--option", "fake.latency_us=200,300", "--rounds", "2")
    assert not by_set(measured(graph, tmp_path / "run", *words, "--pairing", "rounds"))
    for more, seated in (
        ((), True),
        (("--pairing", "rounds"), False),
        (("--scenario", "poisson:200/s"), False),
        (("--memory-limit", "4GiB"), False),
    ):
        plan = plan_from_options(parse(["--models", graph, "--runtimes", "fake", *words, *more]))
        assert [takes_turns(plan, case) for case in expand(plan)] == [seated] * 2, more


def test_what_a_process_leaves_unfinished_is_measured_again(graph: str, tmp_path: Path) -> None:
    """Two of four end in their turns: the others have all their rounds, in sets without these."""
    words = ("--option", "fake.fail=none,noise,crash,hang", "--option", "fake.fail_after=300")
    more = ("--option", "fake.latency_us=200", "--rounds", "2", "--time-limit", "3s")
    run = measured(graph, tmp_path / "run", *words, *more, code=1)
    ended = {
        case.options.get("fail"): {result.status for result in run.rounds_of(case)}
        for case in run.cases
    }
    statuses = [[result.status for result in run.rounds_of(case)] for case in run.cases]
    assert statuses.count(["ok"] * 2) == 2
    assert "crashed" in ended["crash"] and "timeout" in ended["hang"]


def test_one_that_is_killed_costs_its_pass_nothing_but_time(tmp_path: Path) -> None:
    paths = [str(write_add_graph(tmp_path / f"{name}.onnx")) for name in "ab"]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words = (*TWO, "--preset", "brief", "--rounds", "2")
    process = begun(*paths, *words, "--out", str(tmp_path / "run"), TMPDIR=str(temporary))
    seat = "graphlap-turns-*/3"  # the first pass has two at a time
    wait_until(lambda: bool(list(temporary.glob(seat))))
    pipe = next(temporary.glob(seat))
    wait_until(lambda: pipe.with_name(STATE).read_bytes()[FIRST_GROUP:].strip(b"\0") != b"")
    victim = next(child for child in family(process.pid) if has_open(child, pipe.with_name("0")))
    victim.kill()
    process.wait(60)
    run = read_run(tmp_path / "run")
    statuses = [[result.status for result in run.rounds_of(case)] for case in run.cases]
    assert sorted(statuses) == [["ok", "crashed"], *[["ok"] * 2] * 3]


def has_open(process: psutil.Process, path: Path) -> bool:
    links = Path(f"/proc/{process.pid}/fd").iterdir()
    return any(os.path.realpath(link) == str(path) for link in links)


def begun(*words: str, **environ: str) -> subprocess.Popen[bytes]:
    quiet = subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-m", "app", "run", "--runtimes", "fake", *words],
        stdin=quiet,
        stdout=quiet,
        stderr=quiet,
        cwd=ROOT,
        env={**os.environ, **environ},
        start_new_session=True,
    )


def started(graph: str, folder: Path) -> subprocess.Popen[bytes]:
    """A run whose processes take turns, some of them halted, for as long as it is left alone."""
    words = (*TWO, "--threads", "1,2", "--preset", "glance", "--rounds", "50")
    process = begun(graph, *words, "--out", str(folder))
    wait_until(
        lambda: process.poll() is not None or any(map(is_halted, family(process.pid))),
        every_s=0.1,  # to look takes processor time, for which they wait
    )
    assert process.poll() is None
    return process


def is_halted(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() == psutil.STATUS_STOPPED
    return False


def family(pid: int) -> list[psutil.Process]:
    return [child for child in psutil.Process(pid).children(recursive=True) if child.is_running()]


@pytest.mark.parametrize("signals", [[signal.SIGKILL], [signal.SIGINT] * 2], ids=["kill", "int"])
def test_no_process_is_left_halted(
    graph: str, tmp_path: Path, signals: list[signal.Signals]
) -> None:
    process = started(graph, tmp_path / "run")
    children = family(process.pid)
    assert len(children) >= 4
    for code in signals:
        os.kill(process.pid, code)
        time.sleep(0.2)
    process.wait(20)
    _, alive = psutil.wait_procs(children, timeout=10)
    for child in alive:
        child.kill()
    assert not alive


@pytest.mark.alone
def test_a_ratio_that_depends_on_the_state_of_the_machine_is_given_by_state(
    tmp_path: Path, graph: str
) -> None:
    """Two variants that are alike undisturbed, and slow down by other factors. In shorter rounds
    some meet one state alone."""
    machine = ("fake.latency_us=200", "fake.spell_ms=40", "fake.disturbed=1.3,1.8")
    words = [word for option in machine for word in ("--option", option)]
    run = measured(graph, tmp_path / "run", *words, "--rounds", "8", "--preset", "brief")
    rows = Rows().measured(run)
    (contest,) = fastest(rows, 0.02)
    verdict = contest.verdict
    assert verdict.reason == STATES_DIFFER and verdict.difference is not None
    assert contest.needed is None, "no number of rounds decides it"
    # Which of the two has the lesser median is chance.
    undisturbed, disturbed = (math.exp(abs(state.log)) for state in verdict.difference.states)
    assert undisturbed == pytest.approx(1.0, abs=0.02)
    assert disturbed == pytest.approx(1.8 / 1.3, rel=0.03)
    for item, factor in zip(rows, (1.3, 1.8), strict=True):
        assert item.row["level_seen"] == "undisturbed"
        assert item.row["undisturbed_p50_us"] == pytest.approx(200.0, rel=0.03)
        assert item.row["disturbed_factor"] == pytest.approx(factor, rel=0.05)
