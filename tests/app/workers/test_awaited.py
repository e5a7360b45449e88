"""A round that is measured before its reference is there: the same checks, a moment later."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from app.cases.round import AWAITING, MeasureJob, RoundResult
from app.cases.scenario import Scenario
from app.workers.measure import measure_round
from exporters.codec import to_json
from exporters.diagnostics.catalogue import diagnostic
from exporters.types import ExportedModel, Reference, load_reference, save_reference
from runtimes.options import Settings
from tests.app.workers.conftest import AXES, SHORT

Answered = Callable[[dict[str, Any] | None], tuple[RoundResult, list[str]]]


@pytest.fixture
def job(counter: ExportedModel, tmp_path: Path) -> MeasureJob:
    return MeasureJob(
        case_id="c",
        round=0,
        model=counter,
        axes=AXES,
        runtime="ort-cpu",
        settings=Settings(threads=1),
        scenario=Scenario.parse("closed_loop"),
        wait_policy="spin",
        limits=SHORT,
        seed=1,
        samples_path=str(tmp_path / "samples.bin"),
    )


@pytest.fixture
def answered(job: MeasureJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Answered:
    """Measures on a draft, without expected outputs, and answers its wait with a line."""
    (path,) = job.model.references.values()
    draft = str(tmp_path / "draft.npz")
    save_reference(draft, Reference(load_reference(path).inputs, {}))
    model = replace(
        job.model,
        references=dict.fromkeys(job.model.references, draft),
        reference="",
        uncompared=diagnostic("outputs_not_checked"),
    )

    def run_round(answer: dict[str, Any] | None) -> tuple[RoundResult, list[str]]:
        line = b"stop\n" if answer is None else json.dumps(answer).encode() + b"\n"
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(line)))
        events: list[str] = []
        result = measure_round(
            replace(job, model=model, awaits_reference=True),
            lambda event: events.append(
                event["event"] if event["event"] != "phase" else event["phase"]
            ),
            lambda: False,
        )
        return result, [event for event in events if event != "progress"]

    return run_round


def test_the_checks_are_those_of_a_round_that_had_its_reference(
    job: MeasureJob, answered: Answered
) -> None:
    result, events = answered({"model": to_json(job.model)})
    at_once = measure_round(job, lambda _: None, lambda: False)
    assert result.status == at_once.status == "ok"
    assert result.check == at_once.check is not None
    assert "outputs_not_checked" not in {warning.code for warning in result.warnings}
    events_after = events[events.index("measure") :]
    assert events_after[:4] == ["measure", "correctness", AWAITING, "correctness"]


def test_outputs_that_differ_from_the_reference_are_wrong(
    job: MeasureJob, answered: Answered
) -> None:
    (path,) = job.model.references.values()
    reference = load_reference(path)
    off = {name: array + np.float32(1) for name, array in reference.outputs.items()}
    save_reference(path, Reference(reference.inputs, off))
    result, _ = answered({"model": to_json(job.model)})
    at_once = measure_round(job, lambda _: None, lambda: False)
    assert (result.status, result.reason) == (at_once.status, at_once.reason)
    assert result.status == "wrong_output"
    assert result.check == at_once.check


def test_a_reference_of_other_inputs_stops_the_round(job: MeasureJob, answered: Answered) -> None:
    (path,) = job.model.references.values()
    reference = load_reference(path)
    other = {name: array + np.float32(1) for name, array in reference.inputs.items()}
    save_reference(path, Reference(other, reference.outputs))
    result, _ = answered({"model": to_json(job.model)})
    assert result.stop_reason == "stopped"


def test_a_request_to_stop_ends_the_wait(answered: Answered) -> None:
    result, _ = answered(None)
    assert result.stop_reason == "stopped"
