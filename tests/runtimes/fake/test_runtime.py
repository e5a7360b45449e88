"""The scripted runtime keeps the contract, and each scripted failure is the real thing."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise

import pytest

from app.contract.graphs import Graphs
from runtimes.base import Session
from runtimes.errors import CompileFault, NotAvailable, OutOfMemory, RunFault, Unsupported
from runtimes.fake import Fake, disturbances
from runtimes.options import OptionValue, Settings
from tests.runtimes.contract import RuntimeContract, agrees, reference_of

FAILURES = (
    *("unavailable", "unsupported", "compile", "compile_crash", "compile_hang"),
    *("run", "oom", "wrong", "nan", "crash", "abort", "exit", "hang", "noise", "close_crash"),
)


def scripted(graphs: Graphs, **options: OptionValue) -> Session:
    session = Fake().compile(graphs.dense, {"batch": 1}, Settings(options=options))
    session.lanes[0].bind(reference_of(graphs.dense, 1).inputs)
    return session


class TestFake(RuntimeContract):
    name = "fake"
    untried = frozenset(f"fail={failure}" for failure in FAILURES)
    # It computes nothing, so that its streams only repeat themselves.
    test_single_steps_equal_the_whole_sequence = None  # type: ignore[assignment]
    test_inputs_fed_between_runs_leave_the_states_alone = None  # type: ignore[assignment]
    test_states_go_on_in_the_loop_that_times_the_runtime = None  # type: ignore[assignment]


def test_a_run_takes_at_least_its_latency(graphs: Graphs) -> None:
    for wait in ("spin", "sleep"):
        lane = scripted(graphs, latency_us=2000, wait=wait).lanes[0]
        start_ns = time.perf_counter_ns()
        lane.run()
        assert time.perf_counter_ns() - start_ns >= 2_000_000


@pytest.mark.parametrize("batch", [1, 3])
def test_a_run_takes_longer_for_each_of_its_inputs(graphs: Graphs, batch: int) -> None:
    settings = Settings(options={"latency_us": 100.0, "per_input_us": 200.0})
    model = replace(graphs.dense, batch="batch")
    with Fake().compile(model, {"batch": batch}, settings) as session:
        lane = session.lanes[0]
        lane.bind(reference_of(graphs.dense, batch).inputs)
        start_ns = time.perf_counter_ns()
        lane.run()
        assert time.perf_counter_ns() - start_ns >= (100 + 200 * batch) * 1000


def test_half_of_all_spells_are_disturbed_and_all_processes_share_them_or_none() -> None:
    times = range(0, 400 * 10**7, 10**7)
    shared, own = (
        disturbances({"spell_ms": 10.0, "spells": spells}) for spells in ("shared", "own")
    )
    states = [shared(now) for now in times]
    assert 150 < sum(states) < 250 and states == [shared(now + 9_999_999) for now in times]
    assert sum(a != b for a, b in pairwise(states)) > 150
    assert 100 < sum(own(now) != state for now, state in zip(times, states, strict=True)) < 300
    assert not any(map(disturbances({"spell_ms": 0.0, "spells": "shared"}), times))


@pytest.mark.parametrize(
    ("fail", "error"),
    [
        *(("unavailable", NotAvailable), ("unsupported", Unsupported), ("compile", CompileFault)),
        *(("run", RunFault), ("oom", OutOfMemory)),
    ],
)
def test_it_fails_before_a_session_or_after_the_given_runs(
    graphs: Graphs, fail: str, error: type[Exception]
) -> None:
    if fail not in ("run", "oom"):
        with pytest.raises(error):
            scripted(graphs, fail=fail)
        return
    session = scripted(graphs, latency_us=0, fail=fail, fail_after=2)
    run = session.lanes[0].run
    run()
    run()
    with pytest.raises(error) as exc_info:
        run()
    assert session.fault(exc_info.value) is exc_info.value


def test_wrong_outputs_are_wrong_for_every_type(graphs: Graphs) -> None:
    for model in (graphs.dense, graphs.step, graphs.lookup):
        reference = reference_of(model, 3)
        settings = Settings(options={"latency_us": 0, "fail": "wrong", "fail_after": 1})
        lane = Fake().compile(model, {"batch": 3}, settings).lanes[0]
        lane.run()
        assert agrees(lane.outputs(), reference)
        lane.run()
        for name, array in lane.outputs().items():
            assert (array != reference.outputs[name]).all()
