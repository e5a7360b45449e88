"""Operator times from a real process, and how each way of failing is told."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from app.cases.case import Case
from app.cases.jobs import OperatorJob, settings_of
from app.workers import operators
from exporters.codec import to_json
from exporters.types import ExportedModel
from runtimes.base import Availability, Runtime, Unavailable
from runtimes.onnxruntime.gpu_runtimes import OrtCuda, OrtTensorRt
from runtimes.pytorch.runtime import TorchCuda
from runtimes.tensorrt.runtime import TensorRt
from tests.app.workers.conftest import AXES
from tests.app.workers.operator_times import operator_times


def test_the_operators_of_a_case_are_told(counter: ExportedModel) -> None:
    case = Case("counter.onnx", "ort-cpu", axes=AXES)
    times = operator_times(counter, case)
    assert (times.case_id, times.clock, times.reason) == (case.case_id, "wall", "")
    assert {op.op for op in times.ops} <= {"Add", "Identity"}
    assert times.runs >= operators.MINIMUM_RUNS
    assert times.total_us > 0


def test_a_case_that_does_not_compile_has_no_operators_but_a_reason(counter: ExportedModel) -> None:
    case = Case("counter.onnx", "ort-cpu", precision="fp16", axes=AXES)
    times = operator_times(replace(counter, precision="fp16"), case)
    assert times.ops == ()
    assert "fp16" in times.reason


def test_the_case_is_compiled_like_its_rounds_and_finds_their_engines(
    counter: ExportedModel,
) -> None:
    case = Case("counter.onnx", "ort-cuda:1", "fp16", AXES, 2, {"tf32": True})
    settings = OperatorJob(case, counter, "/cache/engines").settings
    assert settings.cache_dir == "/cache/engines"
    assert replace(settings, operator_times=False) == settings_of(case, "/cache/engines")


@pytest.mark.parametrize(
    ("runtime", "waits"),
    [(OrtCuda, True), (OrtTensorRt, True), (TensorRt, False), (TorchCuda, False)],
)
def test_launches_wait_where_the_host_is_the_clock_and_only_there(
    counter: ExportedModel, monkeypatch: pytest.MonkeyPatch, runtime: type[Runtime], waits: bool
) -> None:
    """The driver reads the variable once, at the latest when the runtime asks for devices; and
    a device's own clock would count the pauses between launches that wait."""
    values: list[str | None] = []

    def availability(self: Runtime) -> Availability:
        values.append(os.environ.get("CUDA_LAUNCH_BLOCKING"))
        return Unavailable("asked", "")

    # Set and unset, so that what the worker sets is undone after the test.
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "")
    monkeypatch.delenv("CUDA_LAUNCH_BLOCKING")
    monkeypatch.setattr(runtime, "availability", availability)
    case = Case("counter.onnx", runtime.name, axes=AXES)
    answer = operators.answer(to_json(OperatorJob(case, counter)), lambda event: None)
    assert values == ["1" if waits else None]
    assert answer.reason.startswith("asked")
