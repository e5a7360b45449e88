"""Several lanes timed at once: only what ran in the company of all others counts."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

from app.cases.round import MEASURED, RECORD, WARMUP, latency_ns
from app.cases.scenario import Scenario, WaitPolicy
from app.machine.placement import usable_cores
from app.stats.summary import runs_per_s
from app.workers.lanes import SeveralLanes, counted_records, merge_lane_records
from app.workers.turns import discount_lead, turn_s
from exporters.diagnostics import codes, diagnostic
from runtimes.base import Arrays, Lane
from runtimes.execution import Samples
from tests.app.workers.conftest import Measure


class Counting(Lane):
    """Counts its runs and its steps of state, and who made them."""

    def __init__(self, failing: bool = False) -> None:
        self.runs = self.steps = 0
        self.threads: set[int] = set()
        self.entered = 0
        self.run = self._fail if failing else self._count

    def _count(self) -> None:
        self.runs += 1
        self.threads.add(threading.get_ident())

    def _fail(self) -> None:
        raise ValueError("no luck")

    def advance(self) -> None:
        self.steps += 1

    def enter(self) -> None:
        self.entered = threading.get_ident()

    def bind(self, inputs: Arrays) -> None: ...

    def outputs(self) -> dict[str, np.ndarray]:
        return {}

    def poison(self) -> None: ...


def together(*lanes: Lane, streaming: bool = False) -> SeveralLanes:
    return SeveralLanes(lanes, Scenario(), "spin", streaming, 1000.0)


def spans(*times: tuple[int, int]) -> np.ndarray:
    records = np.zeros(len(times), RECORD)
    records["started_ns"], records["finished_ns"] = np.transpose(times)
    records["phase"] = MEASURED
    return records


def test_a_run_counts_only_between_the_last_ones_start_and_the_first_ones_end() -> None:
    early = spans((0, 9), (10, 19), (20, 29), (30, 39))
    late = spans((8, 18), (18, 28), (28, 38), (38, 48))
    merged_records = merge_lane_records([early, late])
    assert merged_records["started_ns"].tolist() == [0, 8, 10, 18, 20, 28, 30, 38]
    assert merged_records["lane"].tolist() == [0, 1, 0, 1, 0, 1, 0, 1]
    # Both run from 8 to 39: the first of one and the last of the other do not lie within.
    assert counted_records(merged_records)["started_ns"].tolist() == [8, 10, 18, 20, 28, 30]
    late["phase"][:2] = WARMUP
    counted = counted_records(merge_lane_records([early, late]))
    assert counted["started_ns"].tolist() == [10, 20, 28, 30], "what warms up again counts in none"
    assert len(counted_records(merge_lane_records([spans((0, 9)), spans((10, 19))]))) == 0


def test_each_lane_has_a_thread_of_its_own_for_all_blocks_which_ends_with_the_sampling() -> None:
    lanes, before = [Counting() for _ in range(3)], threading.active_count()
    switch_s = sys.getswitchinterval()
    with together(*lanes, streaming=True) as several:
        blocks = [several.block(0.02, 1) for _ in range(3)]
        alive = {thread.ident for thread in threading.enumerate()}
    assert (threading.active_count(), sys.getswitchinterval()) == (before, switch_s)
    records = np.concatenate(blocks)
    idents = {lane.entered for lane in lanes}
    assert len(idents) == 3
    assert idents <= alive - {threading.get_ident()}
    for number, lane in enumerate(lanes):
        assert lane.threads == {lane.entered}
        run_count = np.count_nonzero(records["lane"] == number)
        assert run_count == lane.runs == lane.steps > 0
    failing = together(Counting(), Counting(failing=True))
    with pytest.raises(ValueError, match="no luck"), failing:
        failing.block(0.01, 1)
    assert threading.active_count() == before


@pytest.mark.parametrize("policy", ["spin", "sleep", "hybrid"])
def test_paced_lanes_keep_their_gaps(policy: WaitPolicy) -> None:
    scenario = Scenario.parse("paced:1ms")
    with SeveralLanes([Counting(), Counting()], scenario, policy, False, 1000.0) as lanes:
        records = lanes.block(0.05, 1)
    for lane in range(2):
        lane_records = records[records["lane"] == lane]
        assert (
            lane_records["scheduled_ns"][1:] - lane_records["finished_ns"][:-1] == 1_000_000
        ).all()
        assert (lane_records["started_ns"] >= lane_records["scheduled_ns"]).all()


@pytest.mark.alone
@pytest.mark.parametrize(
    ("runtime", "options"), [("ort-cpu", {"sessions": 2}), ("openvino-cpu", {"streams": 2})]
)
def test_a_round_of_several_sessions(
    measure: Measure, runtime: str, options: dict[str, int]
) -> None:
    result, records, events = measure(runtime, options=options, threads=2)
    assert (result.status, result.reason) == ("ok", "")
    assert result.concurrency == 2
    assert result.check is not None
    assert result.check.output_ok
    assert len(counted_records(records)) == result.iterations
    assert set(counted_records(records)["lane"]) == {0, 1}
    assert {event.get("phase") for event in events} >= {"warmup", "measure", "teardown"}


@pytest.mark.parametrize(
    ("fail", "after", "status", "told"),
    [
        ("compile", 0, "compile_failed", "fake was set"),
        ("oom", 60, "out_of_memory", "fake was set"),
        ("wrong", 0, "wrong_output", "session 2 of 2"),
    ],
)
def test_what_fails_in_one_session_is_the_status_of_the_round(
    measure: Measure, fail: str, after: int, status: str, told: str
) -> None:
    options = {"sessions": 2, "fail": fail, "fail_session": 1, "fail_after": after}
    result, records, _ = measure("fake", options=options)
    assert result.status == status
    assert told in result.reason
    is_timed = len(counted_records(records)) == result.iterations > 0
    assert is_timed or status != "wrong_output", "a wrong row keeps its timing"


def test_sessions_on_too_few_cores_are_warned_of(measure: Measure) -> None:
    core = (min(usable_cores()),)
    quiet, _, _ = measure("fake", options={"sessions": 1}, affinity=core)
    result, _, _ = measure("fake", options={"sessions": 2}, affinity=core)
    assert "threads_exceed_cores" not in codes(quiet.warnings)
    expected = diagnostic("threads_exceed_cores", sessions=2, threads=1, cores=1)
    assert expected in result.warnings


def figures(records: np.ndarray) -> list[float]:
    """The p50, the p99.5, the mean and the time that a run takes by the throughput. One run in 100
    is slow: the p99 would lie at the edge of these, the p99.5 lies in their middle."""
    latencies = latency_ns(records)
    begins, ends = records["started_ns"], records["finished_ns"]
    rate = runs_per_s(Samples(begins, begins, ends, "wall"))
    return [*np.quantile(latencies, (0.5, 0.995)).tolist(), float(latencies.mean()), 1e9 / rate]


@pytest.mark.parametrize(
    ("run_s", "expected_s"),
    [(1e-6, 0.005), (1e-4, 0.005), (1e-3, 0.024), (2e-3, 0.048), (4e-3, 0.05), (0.02, 0.08)],
)
def test_turns_of_longer_runs_last_until_caches_are_theirs_again(
    run_s: float, expected_s: float
) -> None:
    assert turn_s(run_s) == pytest.approx(expected_s)


@pytest.mark.parametrize(("run_us", "turns"), [(23.0, 60), (550.0, 150), (2000.0, 300)])
def test_what_counts_of_turns_is_as_slow_as_the_rest(run_us: float, turns: int) -> None:
    """One run in 100 takes ten times as long; whether such a run counts is no matter of that."""
    rng, tries = np.random.default_rng(31), 60
    length_s = turn_s(run_us * 1e-6)
    runs = round(length_s / (run_us * 1e-6)) + 1
    offsets = []
    for _ in range(tries):
        times_ns = 1e3 * run_us * np.exp(rng.normal(0.0, 0.03, turns * runs))
        times_ns *= np.where(rng.random(turns * runs) < 0.01, 10.0, 1.0)
        records = np.zeros(turns * runs, RECORD)
        records["finished_ns"] = np.cumsum(times_ns)
        records["started_ns"] = records["scheduled_ns"] = records["finished_ns"] - times_ns
        records["phase"] = MEASURED
        for turn in records.reshape(turns, runs):
            discount_lead(turn, length_s)
        counted = counted_records(records)
        assert 0.7 <= len(counted) / len(records) < 0.95
        offsets.append(np.log(figures(counted)) - np.log(figures(records)))
    errors = np.std(offsets, axis=0, ddof=1) / np.sqrt(tries)
    assert (3.0 * errors < 0.002).all()
    assert (np.abs(np.mean(offsets, axis=0)) < 3.0 * errors).all()
