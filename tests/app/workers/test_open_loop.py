"""An open loop in real processes: each wait is what queueing theory says, and a stall is seen."""

from __future__ import annotations

import io
import threading
import time
from dataclasses import replace

import numpy as np
import psutil
import pytest

from app.cases.round import MEASURED, RECORD, WARMUP, Limits, latency_ns
from app.cases.scenario import Scenario, WaitPolicy
from app.stats.open_loop import schedule_sha256
from app.workers.lanes import GIVING_WAIT
from app.workers.loop import Arriving, Block, clock_ns, serve_block
from app.workers.open_loop import FOREVER, OpenLoopSampler, simulated_schedule, timed_schedule
from app.workers.sampling import MeasurementResult
from app.workers.system_counters import Watch
from app.workers.timing import serving
from tests.app.workers.conftest import SHORT, Measure
from tests.app.workers.test_lanes import Counting
from tests.runtimes.loop_in_c import CALLS

LIMITS = replace(SHORT, min_s=0.6)


def drawn(scenario: str, limits: Limits = LIMITS) -> np.ndarray:
    """The counted requests of the fixture's rounds, in ns from the end of its start."""
    return timed_schedule(Scenario.parse(scenario), limits, 0).offsets_ns


def against_theory(records: np.ndarray, offsets_ns: np.ndarray, lanes: int) -> None:
    """Each start is that of Lindley's recursion, over lanes as Kiefer and Wolfowitz have it, but
    for what the generator was late in the same busy period. A lane that has lost its core when it
    is free leaves the next request to another: that is late too, and rare. `offsets_ns` are of
    those that count, which come after all others."""
    records = records[np.argsort(records["scheduled_ns"], kind="stable")]
    scheduled_ns = records["scheduled_ns"][-len(offsets_ns) :]
    begun_ns = int(scheduled_ns[0] - offsets_ns[0])
    assert (scheduled_ns - begun_ns).tolist() == offsets_ns.tolist()
    free_ns, finished_ns, allowed_ns = [0] * lanes, [0] * lanes, [0] * lanes
    left_to_another = 0
    for run in records.tolist():
        due, started_ns, end_ns, _, lane, _ = run
        server = free_ns.index(min(free_ns))
        begins = max(due, free_ns[server])
        free_ns[server] = begins + end_ns - started_ns
        is_queued = min(finished_ns) > due
        late = started_ns - max(due, min(finished_ns))
        left_to_another += min(finished_ns) < finished_ns[lane] > due
        allowed_ns[lane] = late + (max(allowed_ns) if is_queued else 0)
        finished_ns[lane] = end_ns
        assert 0 <= started_ns - begins <= allowed_ns[lane]
    assert left_to_another <= len(records) // 50


@CALLS
@pytest.mark.parametrize(
    ("scenario", "sessions"), [("rate:400/s", 1), ("poisson:400/s", 2), ("burst:8@20ms", 1)]
)
def test_both_loops_serve_the_schedule_in_its_order(
    measure: Measure, scenario: str, sessions: int, call: str
) -> None:
    options = {"call": call, "sessions": sessions}
    result, records, _ = measure(options=options, scenario=scenario, limits=LIMITS)
    assert (result.status, result.reason, result.stop_reason) == ("ok", "", "schedule")
    assert result.check is not None
    assert result.check.output_ok
    requests, opened = records[result.warmup_iterations :], result.open_loop
    assert opened is not None
    assert (opened.left, opened.schedule_sha256) == (0, schedule_sha256(drawn(scenario)))
    assert len(requests) == len(drawn(scenario)) + opened.start_requests
    counted_from = requests["scheduled_ns"][requests["phase"] == MEASURED].min()
    started = np.sort(requests["scheduled_ns"])[: opened.start_requests]
    assert (started < counted_from).all()
    assert (np.diff(requests["started_ns"]) >= 0).all()
    against_theory(requests, drawn(scenario), sessions)
    for lane in range(sessions):
        phases = requests["phase"][requests["lane"] == lane]
        assert phases[0] == WARMUP, "there was a pause before"
        first = int(np.argmax(phases == MEASURED))
        assert (phases[first:] == MEASURED).all(), "the start and the first runs, no other"


@pytest.mark.alone
def test_a_stall_delays_all_that_came_meanwhile_and_a_closed_loop_hides_it(
    measure: Measure,
) -> None:
    """HdrHistogram's example of coordinated omission, scaled down: 1 ms every 5 ms, one stall.

    A request that is due k intervals T after the stalled one waits for what is left of the stall
    S and for the k - 1 runs s between: its latency is S - k (T - s) or more.
    """
    interval_ns, typical_ns, stall_ns, every = 5_000_000, 1_000_000, 200_000_000, 100
    options = {
        "latency_us": typical_ns / 1e3,
        "stall_us": (stall_ns - typical_ns) / 1e3,
        "stall_every": every,
        "wait": "sleep",
    }
    # However long the warm-up was, a run in it stalls, and a hundred more are due after it.
    limits = replace(LIMITS, min_s=1.25, max_s=5.0)
    result, records, _ = measure("fake", options=options, scenario="rate:200/s", limits=limits)
    assert result.status == "ok"
    requests = records[result.warmup_iterations :]
    stalls = np.flatnonzero(latency_ns(requests) >= stall_ns)
    assert len(stalls) <= 1 + len(requests) // every, "by its own clock a run in a hundred is slow"
    latency_due = latency_ns(requests[stalls[0] : stalls[0] + every], from_schedule=True)
    expected = stall_ns - np.arange(every) * (interval_ns - typical_ns)
    assert (latency_due >= expected).all(), "and nearly half are, by when they were due"
    assert np.count_nonzero(latency_due > 10 * typical_ns) > 0.45 * every


@pytest.mark.alone
@pytest.mark.parametrize("rate", ["rate:1000/s", "poisson:10000000/s"])
def test_a_rate_that_can_not_be_held_ends_in_time_and_tells_what_was_left(
    measure: Measure, rate: str
) -> None:
    limits = replace(SHORT, min_s=0.3, max_s=0.5)
    options = {"latency_us": 5000.0, "wait": "sleep"}
    result, records, _ = measure("fake", options=options, scenario=rate, limits=limits)
    became = result.open_loop
    assert (result.status, result.stop_reason) == ("ok", "overload")
    assert became is not None
    assert became.overloaded
    assert became.utilisation > 4
    request_count = len(records) - result.warmup_iterations
    assert (became.due, became.left) == (len(drawn(rate, limits)), became.due - request_count)
    starts_ns = records["started_ns"][result.warmup_iterations :]
    assert starts_ns[-1] - starts_ns[0] < 1e9


def sampled(
    *lanes: Counting, scenario: str, stopped: bool, policy: WaitPolicy
) -> MeasurementResult:
    schedule = timed_schedule(Scenario.parse(scenario), replace(SHORT, max_s=30.0, min_s=30.0), 1)
    serves = [serving(lane, policy, GIVING_WAIT, True) for lane in lanes]
    sampler = OpenLoopSampler(
        lanes, serves, schedule, io.BytesIO(), Watch((0,)), lambda _: None, lambda: stopped
    )
    return sampler.measure()


@pytest.mark.parametrize("policy", ["spin", "sleep", "hybrid"])
def test_a_stop_ends_a_round_long_before_its_next_request(policy: WaitPolicy) -> None:
    start_s = time.perf_counter()
    outcome = sampled(Counting(), Counting(), scenario="rate:1/s", stopped=True, policy=policy)
    assert outcome.stop_reason == "stopped"
    assert time.perf_counter() - start_s < 20


def test_a_lane_that_waits_for_its_first_request_keeps_nobody_s_records_back() -> None:
    """Each of six lanes has taken one of six requests, and the last waits a second for its own."""
    lanes = [Counting() for _ in range(6)]
    limits = replace(SHORT, max_s=1.2, min_s=1.2)
    schedule = timed_schedule(Scenario.parse("rate:5/s"), limits, 1)
    serves = [serving(lane, "sleep", GIVING_WAIT, True) for lane in lanes]
    file, counts = io.BytesIO(), []

    def count(_: object) -> None:
        counts.append(len(file.getvalue()) // RECORD.itemsize)

    OpenLoopSampler(lanes, serves, schedule, file, Watch((0,)), count, lambda: False).measure()
    assert counts[-1] == sum(lane.runs for lane in lanes) == len(schedule.offsets_ns)
    assert counts[0] < counts[-1] - 1, "records are kept while the round goes on"
    records = np.frombuffer(file.getvalue(), RECORD)
    assert (np.diff(records["started_ns"]) >= 0).all()


def test_room_that_several_lanes_share_out_is_taken_as_it_is_written() -> None:
    capacity = 1 << 24
    rss_bytes = psutil.Process().memory_info().rss
    blocks = [Block(capacity, as_written=True) for _ in range(16)]  # 6 GiB of room
    arriving = Arriving(np.arange(3))
    arriving.begin(clock_ns(), FOREVER)
    serve_block(blocks[0], arriving, lambda: None, None, lambda _: None)
    assert psutil.Process().memory_info().rss - rss_bytes < 64 << 20
    assert len(blocks[0].records(3, WARMUP)) == 3
    assert (blocks[0].records(3, WARMUP)["finished_ns"] > 0).all()
    assert blocks[0].finished[3] == 0


def test_a_run_that_raises_ends_the_round_with_its_error_and_all_threads() -> None:
    thread_count = threading.active_count()
    with pytest.raises(ValueError, match="no luck"):
        sampled(
            Counting(), Counting(failing=True), scenario="rate:100/s", stopped=False, policy="sleep"
        )
    assert threading.active_count() == thread_count


@pytest.mark.parametrize("scenario", ["poisson:200000/s", "burst:8@1ms"])
def test_a_simulated_card_serves_the_same_requests_without_being_late(
    measure: Measure, scenario: str
) -> None:
    limits = replace(SHORT, simulated_samples=800)
    result, records, _ = measure("fpga", scenario=scenario, limits=limits)
    became = result.open_loop
    assert became is not None
    start = became.start_requests
    assert (result.stop_reason, became.due, became.left) == ("simulated", 800 + start, 0)
    assert result.iterations == np.count_nonzero(records["phase"] == MEASURED) == 800
    offsets_ns = simulated_schedule(Scenario.parse(scenario), 800, 0).offsets_ns
    due = records["scheduled_ns"]
    assert (due[start:] - round(1e9 * became.start_s)).tolist() == offsets_ns.tolist()
    free = np.append(0, records["finished_ns"][:-1])
    assert (records["started_ns"] == np.maximum(due, free)).all()
