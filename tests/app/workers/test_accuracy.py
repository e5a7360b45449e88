"""The accuracy process on real runtimes: right answers counted, every failure a sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.cases.case import Case
from app.cases.jobs import AccuracyJob, subject_of
from app.cases.scenario import Scenario
from exporters.codec import to_json
from exporters.messages import ExportRequest
from exporters.types import ExportedModel
from exporters.worker.export import export
from tests.app.workers.labelled_files import write_arrays, write_echo_graph, write_folder
from tests.checkout import ROOT


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ExportedModel:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    path = write_echo_graph(tmp_path / "echo.onnx")
    model, _ = export(ExportRequest(str(path), points=({"batch": 1},)))
    return model


def measured(model: ExportedModel, data: Path | str, runtime: str = "ort-cpu") -> dict[str, Any]:
    """The last line of a real accuracy process."""
    case = Case(model.name, runtime, axes=dict.fromkeys(model.axes, 1))
    job = AccuracyJob(subject_of(case, model), model, str(data))
    run = subprocess.run(
        [sys.executable, "-m", "app.workers.accuracy"],
        input=json.dumps(to_json(job)) + "\n",
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    result: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return result


@pytest.mark.parametrize("runtime", ["ort-cpu", "openvino-cpu", "fpga:v80"])
def test_right_answers_are_counted_beyond_whole_batches(
    echo: ExportedModel, tmp_path: Path, runtime: str
) -> None:
    """100 images are a batch of 64 and 36 more; 25 of them have another label."""
    result = measured(echo, write_arrays(tmp_path / "a.npz", 100, wrong=25), runtime)
    assert result["reason"] == ""
    assert (result["top1"], result["images"], result["batch_size"]) == (0.75, 100, 64)


@pytest.mark.rare
def test_the_torch_module_and_its_graph_answer_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    model, _ = export(ExportRequest("digits_mlp_8"))
    data = "exporters.models.digits:test_set"
    graph, module = (measured(model, data, runtime) for runtime in ("ort-cpu", "torch-cpu"))
    assert graph["images"] == module["images"] == 448
    # Sums are rounded in another order, so an image on the very edge may fall either way.
    assert graph["top1"] == pytest.approx(module["top1"], abs=1 / 448)


def test_a_runtime_that_refuses_the_model_says_why(echo: ExportedModel, tmp_path: Path) -> None:
    result = measured(echo, write_arrays(tmp_path / "a.npz", 64, 0), "torch-cpu")
    assert result["top1"] is None
    assert "no torch module" in result["reason"]


def test_data_of_another_kind_is_a_reason(echo: ExportedModel, tmp_path: Path) -> None:
    result = measured(echo, write_folder(tmp_path / "images", {"a": 2}))
    assert "takes no colour images" in result["reason"]


def test_more_classes_than_the_model_has_is_a_reason(echo: ExportedModel, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, images=np.zeros((64, 10), np.float32), labels=np.full(64, 10))
    assert "has 10 classes and the labels go up to 10" in measured(echo, path)["reason"]


@pytest.mark.rare
def test_a_model_of_several_inputs_is_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    model, _ = export(ExportRequest("cnn_tiny"))
    result = measured(model, write_arrays(tmp_path / "a.npz", 64, 0))
    assert result["reason"].startswith("cnn_tiny has 4 inputs")


def test_what_is_only_timed_differently_is_one_subject(echo: ExportedModel) -> None:
    case = Case("echo.onnx", "ort-cpu", axes={"batch": 1})
    other_cases = [
        Case("echo.onnx", "ort-cpu", axes={"batch": 8}, suite="mine"),
        Case("echo.onnx", "ort-cpu", axes={"batch": 1}, threads=0),
        Case("echo.onnx", "ort-cpu", axes={"batch": 1}, scenario=Scenario("paced", 20.0)),
        Case("echo.onnx", "ort-cpu", axes={"batch": 1}, options={"sessions": 2}),
    ]
    assert all(subject_of(other_case, echo) == subject_of(case, echo) for other_case in other_cases)
    for different in (
        Case("echo.onnx", "openvino-cpu", axes={"batch": 1}),
        Case("echo.onnx", "ort-cpu", precision="int8", axes={"batch": 1}),
        Case("echo.onnx", "ort-cpu", axes={"batch": 1}, options={"optimization": "off"}),
    ):
        assert subject_of(different, echo).case_id != subject_of(case, echo).case_id
