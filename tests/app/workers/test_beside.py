"""Another model is at work while a round is measured, or the round is not valid and says why."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from app.cases.case import Case
from app.cases.round import AWAITING, MeasureJob, NeighbourJob, RoundResult, Stretch
from app.workers.colocation import Neighbour, colocated_load, work_in_window
from app.workers.measure import measure_round
from app.workers.round_context import RoundContext
from exporters.codec import to_json
from exporters.diagnostics import diagnostic
from exporters.types import ExportedModel, Reference, load_reference, save_reference
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


def test_a_neighbour_that_does_not_compile_ends_the_round_with_its_reason(
    measure: Measure, counter: ExportedModel
) -> None:
    result, _, _ = measure("fake", neighbour=job_of(counter, "fake", fail="compile"))
    assert result.status == "compile_failed"
    assert "the neighbour counter can't run as co-located load: fake was set not" in result.reason


@pytest.mark.parametrize("killed", [True, False])
def test_a_neighbour_that_dies_or_works_too_little_makes_the_round_invalid(
    job: MeasureJob, killed: bool
) -> None:
    round_state = RoundContext(job, lambda event: None, lambda: False)
    with colocated_load(round_state) as neighbour:
        assert neighbour is not None
        if killed:
            os.kill(neighbour.pid, signal.SIGKILL)
        neighbour.note(round_state, 0, 10**9)  # the first second of this machine
    result: RoundResult = round_state.result
    assert not result.valid
    ended = diagnostic("neighbour_ended", "counter", exit_code=-signal.SIGKILL)
    idle = diagnostic("neighbour_idle", "counter", share=0.0)
    assert (ended if killed else idle) in result.warnings


@pytest.fixture
def job(counter: ExportedModel) -> MeasureJob:
    return MeasureJob(
        case=Case("counter", "ort-cpu"),
        round=0,
        model=counter,
        axes=AXES,
        settings=Settings(threads=1),
        limits=SHORT,
        seed=7,
        samples_path="",
        neighbour=job_of(counter),
    )


def test_a_neighbour_that_dies_before_it_works_is_a_failure(counter: ExportedModel) -> None:
    neighbour = Neighbour(job_of(counter, "fake", fail="crash"))
    with pytest.raises(RuntimeFault, match="its process ended, by signal 11"):
        neighbour.wait_until_at_work()
    neighbour.close()


Answered = Callable[[dict[str, Any] | None], tuple[RoundResult, list[str]]]


@pytest.fixture
def awaiting(job: MeasureJob, tmp_path: Path) -> MeasureJob:
    return replace(job, neighbour=None, samples_path=str(tmp_path / "samples.bin"))


@pytest.fixture
def answered(awaiting: MeasureJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Answered:
    """Measures on a draft, without expected outputs, and answers its wait with a line."""
    (path,) = awaiting.model.references.values()
    draft = str(tmp_path / "draft.npz")
    save_reference(draft, Reference(load_reference(path).inputs, {}))
    model = replace(
        awaiting.model,
        references=dict.fromkeys(awaiting.model.references, draft),
        reference="",
        uncompared=diagnostic("outputs_not_checked"),
    )

    def run_round(answer: dict[str, Any] | None) -> tuple[RoundResult, list[str]]:
        line = b"stop\n" if answer is None else json.dumps(answer).encode() + b"\n"
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(line)))
        events: list[str] = []
        result = measure_round(
            replace(awaiting, model=model, awaits_reference=True),
            lambda event: events.append(
                event["event"] if event["event"] != "phase" else event["phase"]
            ),
            lambda: False,
        )
        return result, [event for event in events if event != "progress"]

    return run_round


@pytest.mark.parametrize("off", [0, 1])
def test_the_checks_are_those_of_a_round_that_had_its_reference(
    awaiting: MeasureJob, answered: Answered, off: int
) -> None:
    (path,) = awaiting.model.references.values()
    reference = load_reference(path)
    outputs = {name: array + np.float32(off) for name, array in reference.outputs.items()}
    save_reference(path, Reference(reference.inputs, outputs))
    result, events = answered({"model": to_json(awaiting.model)})
    at_once = measure_round(awaiting, lambda _: None, lambda: False)
    assert (result.status, result.reason) == (at_once.status, at_once.reason)
    assert result.status == ("wrong_output" if off else "ok")
    assert result.check == at_once.check is not None
    assert "outputs_not_checked" not in {warning.code for warning in result.warnings}
    events_after = events[events.index("measure") :]
    assert events_after[:4] == ["measure", "correctness", AWAITING, "correctness"]


def test_a_reference_of_other_inputs_and_a_request_to_stop_end_the_wait(
    awaiting: MeasureJob, answered: Answered
) -> None:
    (path,) = awaiting.model.references.values()
    reference = load_reference(path)
    other = {name: array + np.float32(1) for name, array in reference.inputs.items()}
    save_reference(path, Reference(other, reference.outputs))
    for answer in ({"model": to_json(awaiting.model)}, None):
        result, _ = answered(answer)
        assert result.stop_reason == "stopped"
