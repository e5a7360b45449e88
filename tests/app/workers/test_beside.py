"""Another model is at work while a round is measured, or the round is not valid and says why."""

from __future__ import annotations

import os
import signal

import pytest

from app.cases.round import MeasureJob, NeighbourJob, RoundResult, Stretch
from app.cases.scenario import CLOSED_LOOP
from app.workers.colocation import Neighbour, colocated_load, work_in_window
from app.workers.round_context import RoundContext
from exporters.diagnostics.catalogue import diagnostic
from exporters.types import ExportedModel
from runtimes.errors import RuntimeFault
from runtimes.options import Settings
from tests.app.workers.conftest import AXES, SHORT, Measure


def job_of(model: ExportedModel, runtime: str = "ort-cpu", **options: str) -> NeighbourJob:
    return NeighbourJob(model, runtime, Settings(threads=1, options=options))


@pytest.mark.parametrize(
    ("stretches", "expected"),
    [
        ([], (0.0, 0.0)),
        ([Stretch(100, 200, 50)], (50.0, 0.1)),
        ([Stretch(-100, 100, 80), Stretch(900, 1100, 20)], (50.0, 0.2)),
        ([Stretch(-500, 1500, 40)], (20.0, 1.0)),
        ([Stretch(-500, -1, 9), Stretch(1000, 2000, 9)], (0.0, 0.0)),
    ],
)
def test_runs_within_the_measured_time_count(
    stretches: list[Stretch], expected: tuple[float, float]
) -> None:
    assert work_in_window(stretches, 0, 1000) == pytest.approx(expected)


@pytest.mark.parametrize("runtime", ["ort-cpu", "fake"])
def test_a_round_tells_how_often_its_neighbour_ran(
    measure: Measure, counter: ExportedModel, runtime: str
) -> None:
    result, _, _ = measure(runtime, neighbour=job_of(counter, runtime))
    assert (result.status, result.reason) == ("ok", "")
    assert float(result.facts["colocated_runs_per_s"]) > 0.0
    assert 0.0 < float(result.facts["colocated_busy_fraction"]) <= 1.0


def test_a_neighbour_that_does_not_compile_ends_the_round_with_its_reason(
    measure: Measure, counter: ExportedModel
) -> None:
    result, _, _ = measure("fake", neighbour=job_of(counter, "fake", fail="compile"))
    assert result.status == "compile_failed"
    assert "the neighbour counter can't run as co-located load: fake was set not" in result.reason


def under_way(job: MeasureJob) -> RoundContext:
    return RoundContext(job, lambda event: None, lambda: False)


@pytest.fixture
def job(counter: ExportedModel) -> MeasureJob:
    return MeasureJob(
        case_id="case",
        round=0,
        model=counter,
        axes=AXES,
        runtime="ort-cpu",
        settings=Settings(threads=1),
        scenario=CLOSED_LOOP,
        wait_policy="spin",
        limits=SHORT,
        seed=7,
        samples_path="",
        neighbour=job_of(counter),
    )


def test_a_neighbour_that_dies_makes_the_round_invalid_and_is_told(job: MeasureJob) -> None:
    round_state = under_way(job)
    with colocated_load(round_state) as neighbour:
        assert neighbour is not None
        os.kill(neighbour.pid, signal.SIGKILL)
        neighbour.note(round_state, 0, 10**9)
    result: RoundResult = round_state.result
    assert not result.valid
    assert diagnostic("neighbour_ended", "counter", exit_code=-signal.SIGKILL) in result.warnings


def test_a_neighbour_that_did_not_work_long_enough_is_none(job: MeasureJob) -> None:
    round_state = under_way(job)
    with colocated_load(round_state) as neighbour:
        assert neighbour is not None
        neighbour.note(round_state, 0, 10**9)  # the first second of this machine
    assert not round_state.result.valid
    assert diagnostic("neighbour_idle", "counter", share=0.0) in round_state.result.warnings


def test_a_neighbour_that_dies_before_it_works_is_a_failure(counter: ExportedModel) -> None:
    neighbour = Neighbour(job_of(counter, "fake", fail="crash"))
    with pytest.raises(RuntimeFault, match="its process ended, by signal 11"):
        neighbour.wait_until_at_work()
    neighbour.close()


def test_no_neighbour_outlives_its_round(job: MeasureJob) -> None:
    with colocated_load(under_way(job)) as neighbour:
        assert neighbour is not None
        pid = neighbour.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
