"""A whole profile in a real profiling process, and how each way of failing is told."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from app.cases.case import Case
from app.cases.operators import OperatorJob
from app.cases.settings import settings_of
from app.workers import operators
from exporters.codec import to_json
from exporters.types import ExportedModel
from runtimes.base import Availability, Runtime, Unavailable
from runtimes.ort.cuda_runtime import OrtCuda
from runtimes.ort.tensorrt_runtime import OrtTensorRt
from runtimes.pyt.cuda_runtime import TorchCuda
from runtimes.trt.runtime import TensorRt
from tests.app.workers.conftest import AXES
from tests.app.workers.profiles import profiled


def test_a_profile_tells_the_operators_of_the_case(counter: ExportedModel) -> None:
    case = Case("counter.onnx", "ort-cpu", axes=AXES)
    profile = profiled(counter, case)
    assert (profile.case_id, profile.clock, profile.reason) == (case.case_id, "wall", "")
    assert {op.op for op in profile.ops} <= {"Add", "Identity"}
    assert profile.runs >= operators.LEAST_RUNS
    assert profile.total_us > 0


def test_a_case_that_does_not_compile_is_a_profile_with_its_reason(counter: ExportedModel) -> None:
    case = Case("counter.onnx", "ort-cpu", precision="fp16", axes=AXES)
    profile = profiled(replace(counter, precision="fp16"), case)
    assert profile.ops == ()
    assert "fp16" in profile.reason


def test_a_profile_is_compiled_like_the_rounds_and_finds_their_engines(
    counter: ExportedModel,
) -> None:
    case = Case("counter.onnx", "ort-cuda:1", "fp16", AXES, 2, {"tf32": True})
    settings = OperatorJob(case, counter, "/cache/engines").settings
    assert settings.cache_dir == "/cache/engines"
    assert replace(settings, profile=False) == settings_of(case, "/cache/engines")


@pytest.mark.parametrize(
    ("runtime", "waits"),
    [(OrtCuda, True), (OrtTensorRt, True), (TensorRt, False), (TorchCuda, False)],
)
def test_launches_wait_where_the_host_is_the_clock_and_only_there(
    counter: ExportedModel, monkeypatch: pytest.MonkeyPatch, runtime: type[Runtime], waits: bool
) -> None:
    """The driver reads the variable once, at the latest when the runtime asks for devices; and
    a device's own clock would count the pauses between launches that wait."""
    said: list[str | None] = []

    def availability(self: Runtime) -> Availability:
        said.append(os.environ.get("CUDA_LAUNCH_BLOCKING"))
        return Unavailable("asked", "")

    # Set and unset, so that what the worker sets is undone after the test.
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "")
    monkeypatch.delenv("CUDA_LAUNCH_BLOCKING")
    monkeypatch.setattr(runtime, "availability", availability)
    case = Case("counter.onnx", runtime.name, axes=AXES)
    profile = operators.answer(to_json(OperatorJob(case, counter)), lambda event: None)
    assert said == ["1" if waits else None]
    assert profile.reason.startswith("asked")
