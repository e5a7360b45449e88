"""Multistream and offline: what one sample is, who ran it, and that nothing else is counted."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from app.cases.round import WARMUP, latency_ns
from app.cases.scenario import Scenario
from app.workers import simulated_round
from app.workers.lanes import counted_records
from app.workers.multistream import AllAtOnce, Queries
from exporters.diagnostics import codes
from exporters.types import ExportedModel
from runtimes.base import Lane, Runtime
from runtimes.fpga.card.timing import latency_us, simulate
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.openvino.runtime import OpenVinoCpu
from runtimes.options import Settings
from tests.app.workers.conftest import SHORT, Measure
from tests.app.workers.test_lanes import Counting
from tests.runtimes.fpga.card.test_timing import compiled
from tests.runtimes.fpga.graphs import cnn_step
from tests.runtimes.loop_in_c import CALLS

SETS = [{"x": np.full((1, 4), value, np.float32)} for value in (1.0, 10.0, 100.0)]


class Noting(Counting):
    """Notes when each of its runs began and ended; fails in the run that it is told."""

    def __init__(self, sleep_s: float = 0.0, fails_at: int = 0) -> None:
        super().__init__()
        self.times: list[tuple[int, int]] = []
        self._sleep_s, self._fails_at = sleep_s, fails_at
        self.run = self._note

    def _note(self) -> None:
        begin = time.perf_counter_ns()
        time.sleep(self._sleep_s)
        self.times.append((begin, time.perf_counter_ns()))
        if len(self.times) == self._fails_at:
            raise ValueError("no luck")


def queries(*lanes: Lane, size: int, streaming: bool = False) -> Queries:
    return Queries(lanes, Scenario.parse(f"multistream:{size}"), streaming, 1e6)


def test_a_query_holds_the_runs_of_all_lanes_and_begins_after_the_last_one_ended() -> None:
    lanes = [Noting(0.0003), Noting(0.0001)]
    with queries(*lanes, size=5, streaming=True) as blocks:
        records = blocks.block(0.02, minimum=5)
    assert [len(lane.times) for lane in lanes] == [3 * len(records), 2 * len(records)]
    assert [lane.steps for lane in lanes] == [len(lane.times) for lane in lanes]
    for number, record in enumerate(records):
        runs = lanes[0].times[3 * number : 3 * number + 3] + lanes[1].times[2 * number :][:2]
        assert record["started_ns"] <= min(begin for begin, _ in runs)
        assert record["finished_ns"] >= max(end for _, end in runs)
    assert (records["started_ns"][1:] >= records["finished_ns"][:-1]).all()
    assert (records["scheduled_ns"] == records["started_ns"]).all()


@pytest.mark.parametrize("failing", [0, 1])
def test_a_lane_that_fails_ends_the_round_of_all(failing: int) -> None:
    thread_count = threading.active_count()
    lanes = [Noting(fails_at=5 if number == failing else 0) for number in range(2)]
    with pytest.raises(ValueError, match="no luck"), queries(*lanes, size=2) as blocks:
        blocks.block(0.05, minimum=100)
    assert threading.active_count() == thread_count


def test_all_that_is_due_at_once_is_run_once_and_what_warms_up_is_over_before() -> None:
    lanes = [Noting(0.0002), Noting(0.0002), Noting(0.0002)]
    with AllAtOnce(lanes, True, 200_000.0) as blocks:
        records = blocks.block(0.02, minimum=1)
    counted_runs, warm = counted_records(records), records[records["phase"] == WARMUP]
    assert len(records) == sum(len(lane.times) for lane in lanes) == sum(x.steps for x in lanes)
    assert len(set(counted_runs["scheduled_ns"])) == 1
    assert (counted_runs["started_ns"] >= counted_runs["scheduled_ns"]).all()
    assert warm["finished_ns"].max() <= counted_runs["scheduled_ns"][0]
    assert set(warm["lane"]) == {0, 1, 2}
    assert len(counted_runs) % 3 == 0
    for number in range(3):
        lane_records = counted_runs[counted_runs["lane"] == number]
        assert (lane_records["started_ns"][1:] >= lane_records["finished_ns"][:-1]).all()


class Held(Noting):
    """After its first run, each lasts until another lane has made so many."""

    def __init__(self, other: Noting, runs: int) -> None:
        super().__init__()
        self.run = self._hold
        self._other, self._runs = other, runs

    def _hold(self) -> None:
        while self.times and len(self._other.times) < self._runs:
            time.sleep(0.0001)
        self._note()


def test_a_lane_that_is_held_up_leaves_its_requests_to_the_other() -> None:
    free = Noting()
    with AllAtOnce([Held(free, runs=30), free], False, 1_000_000.0) as blocks:
        counted_runs = counted_records(blocks.block(0.02, minimum=1))
    assert len(counted_runs) == 2 * 19
    assert np.count_nonzero(counted_runs["lane"] == 1) >= 29


@pytest.mark.parametrize("runtime", [OrtCpu(), OpenVinoCpu()], ids=lambda one: one.name)
@CALLS
def test_states_and_fed_inputs_go_on_through_queries_and_through_all_at_once(
    counter: ExportedModel, runtime: Runtime, call: str
) -> None:
    settings = Settings(threads=1, options={"call": call})
    with runtime.compile(counter, {"batch": 1}, settings) as session:
        (lane,) = session.lanes
        for queries_made in (
            Queries(session.lanes, Scenario.parse("multistream:3"), True, 1e6, SETS),
            AllAtOnce(session.lanes, True, 1e6, SETS),
        ):
            lane.bind({**SETS[0], "total": np.zeros((1, 4), np.float32)})
            with queries_made:
                runs = len(queries_made.block(0.0, minimum=6))
            runs *= 3 if isinstance(queries_made, Queries) else 1
            each = np.resize([1.0, 10.0, 100.0], runs)
            assert lane.outputs()["total_out"][0, 0] == each.sum()


@CALLS
@pytest.mark.parametrize(("scenario", "sessions"), [("multistream:5", 1), ("offline", 2)])
def test_a_round_of_a_real_session(
    measure: Measure, call: str, scenario: str, sessions: int
) -> None:
    result, records, _ = measure(options={"call": call, "sessions": sessions}, scenario=scenario)
    assert (result.status, result.reason) == ("ok", "")
    assert result.concurrency == sessions
    assert len(counted_records(records)) == result.iterations > 0
    assert result.call_path.endswith({"c": "timed in C", "python": "timed in Python"}[call])
    assert result.check is not None and result.check.output_ok


def test_fewer_requests_than_lanes_are_refused_with_the_remedy(measure: Measure) -> None:
    result, _, _ = measure("fake", options={"sessions": 3}, scenario="multistream:2")
    assert result.status == "unsupported"
    assert "3 lanes" in result.reason and "use multistream:3" in result.reason


def test_a_card_overlaps_the_requests_of_a_query_and_is_never_busy(
    measure: Measure, tmp_path: Path
) -> None:
    busy = "import os; os.getloadavg = lambda: (1e6, 0.0, 0.0)"
    limits = replace(SHORT, simulated_samples=200)
    single, runs, _ = measure("fpga", limits=limits, said_first=busy)
    assert "cpu_oversubscribed" not in codes(single.warnings)
    assert "cpu_oversubscribed" in codes(measure("ort-cpu", said_first=busy)[0].warnings)
    result, queries, _ = measure(
        "fpga", scenario="multistream:4", limits=limits, samples=tmp_path / "queries.bin"
    )
    assert (result.status, result.iterations) == ("ok", 200)
    one_ns, four_ns = latency_ns(runs).mean(), latency_ns(queries).mean()
    assert one_ns < four_ns < 4 * one_ns
    assert (queries["started_ns"][1:] == queries["finished_ns"][:-1]).all()
    result, block, _ = measure(
        "fpga", scenario="offline", limits=limits, samples=tmp_path / "block.bin"
    )
    assert block["finished_ns"][-1] < runs["finished_ns"][-1]
    assert (np.diff(block["finished_ns"]) >= 0).all()
    assert set(block["scheduled_ns"]) == {runs["started_ns"][0]}
    assert result.facts["fidelity"] == "extrapolated"


def test_more_queries_than_are_simulated_in_one_go_follow_each_other_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(simulated_round, "MAXIMUM_RUNS", 10)
    card = compiled(cnn_step(2, 64))
    session: Any = SimpleNamespace(simulate=partial(simulate, card))
    scenario, rng = Scenario.parse("multistream:3"), np.random.default_rng(1)
    samples = simulated_round.simulate_at_once(session, scenario, 8, rng)
    (taken_ns,) = set(samples.latency_ns.tolist())
    one_ns = round(latency_us(card, 0) * 1e3)
    assert one_ns < taken_ns < 3 * one_ns
    assert (samples.started_ns[1:] == samples.finished_ns[:-1]).all()
