"""The accuracy process on real runtimes: right answers counted, every failure a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.capabilities.accuracy.worker import open_data
from app.cases.case import Case
from app.cases.errors import PlanError
from app.cases.jobs import AccuracyJob, subject_of
from app.cases.scenario import Scenario
from app.plan.models import reject_unusable
from exporters.messages import ExportRequest
from exporters.types import ExportedModel, TensorSpec
from exporters.worker import export
from tests.app.workers.labelled_files import write_arrays, write_echo_graph, write_folder
from tests.checkout import ROOT
from tests.processes import answer_of


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
    return answer_of("app.capabilities.accuracy.worker", job, cwd=ROOT)


@pytest.mark.parametrize("runtime", ["ort-cpu", "openvino-cpu", "fpga:v80"])
def test_right_answers_are_counted_beyond_whole_batches(
    echo: ExportedModel, tmp_path: Path, runtime: str
) -> None:
    """100 images are a batch of 64 and 36 more; 25 of them have another label."""
    result = measured(echo, write_arrays(tmp_path / "a.npz", 100, wrong=25), runtime)
    assert result["reason"] == ""
    assert (result["top1"], result["images"], result["batch_size"]) == (0.75, 100, 64)


def test_what_can_not_be_measured_is_a_reason(echo: ExportedModel, tmp_path: Path) -> None:
    path = write_arrays(tmp_path / "a.npz", 64, 0)
    result = measured(echo, path, "torch-cpu")
    assert result["top1"] is None
    assert "no torch module" in result["reason"]
    np.savez(path, images=np.zeros((64, 10), np.float32), labels=np.full(64, 10))
    assert "has 10 classes and the labels go up to 10" in measured(echo, path)["reason"]


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


SPEC = TensorSpec("x", "float32", ("batch", 3, 224, 224))


MEAN = np.array([0.485, 0.456, 0.406])


DEVIATION = np.array([0.229, 0.224, 0.225])


def as_normalised(pixels: np.ndarray) -> np.ndarray:
    """[h, w, 3] bytes as ImageNet's networks take them, [3, h, w]."""
    return ((pixels / 255.0 - MEAN) / DEVIATION).transpose(2, 0, 1)


@pytest.mark.parametrize(("crop", "shorter"), [(224, 256), (299, 342)])
def test_the_middle_of_the_resized_image_is_cut_out(
    tmp_path: Path, crop: int, shorter: int
) -> None:
    """An image that has the size to resize to already is only cut and normalised."""
    rng = np.random.default_rng(3)
    pixels = rng.integers(0, 256, (shorter, shorter + 100, 3), dtype=np.uint8)
    (tmp_path / "class").mkdir()
    Image.fromarray(pixels).save(tmp_path / "class" / "a.png")
    (image,) = open_data(str(tmp_path), SPEC, (64, 3, crop, crop)).images(0, 1)
    top, left = (shorter - crop) // 2, (shorter + 100 - crop) // 2
    expected = as_normalised(pixels[top : top + crop, left : left + crop])
    assert image.shape == (3, crop, crop)
    assert np.abs(image - expected).max() < 1e-5


@pytest.mark.parametrize("size", [(100, 300), (300, 100), (1000, 700)])
@pytest.mark.parametrize(("mode", "colour"), [("RGB", (0, 0, 255)), ("L", 128)])
def test_an_image_of_any_size_fills_the_crop_a_grey_one_too(
    tmp_path: Path, size: tuple[int, int], mode: str, colour: Any
) -> None:
    (tmp_path / "class").mkdir()
    Image.new(mode, size, colour).save(tmp_path / "class" / "a.png")
    (image,) = open_data(str(tmp_path), SPEC, (64, 3, 224, 224)).images(0, 1)
    assert image.shape == (3, 224, 224)
    expected = as_normalised(np.broadcast_to(np.array(colour), (1, 1, 3)))
    assert np.abs(image - expected).max() < 1e-5


def test_classes_are_numbered_in_the_order_of_their_names(tmp_path: Path) -> None:
    write_folder(tmp_path / "data", {"n02": 2, "n01": 1, "n10": 3})
    (tmp_path / "data" / "n01" / "notes.txt").write_text("no image")
    data = open_data(str(tmp_path / "data"), SPEC, (64, 3, 224, 224))
    assert data.labels.tolist() == [0, 1, 1, 2, 2, 2]
    reds = data.images(0, 6)[:, 0, 0, 0] * DEVIATION[0] + MEAN[0]
    assert np.round(reds * 255).tolist() == [0, 1, 1, 2, 2, 2]


@pytest.fixture
def unusable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data of each kind that no model can be measured with; `enough` has just as many as it
    takes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flat").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "flat" / "a.png")
    write_folder(tmp_path / "few", {"a": 40, "b": 23})
    write_folder(tmp_path / "enough", {"a": 40, "b": 24})
    write_arrays(tmp_path / "few.npz", 63, 0)
    (tmp_path / "torn.npz").write_bytes(b"PK\x03\x04 torn")
    np.savez(tmp_path / "unlabelled.npz", images=np.zeros((64, 3)))
    return tmp_path


def test_what_is_no_data_is_refused_before_a_run(unusable: Path) -> None:
    for name, told in {
        "flat": r"no classes.*one folder of images for each class",
        "few": r"holds 63 images.*batches of 64",
        "few.npz": "holds 63 images",
        "nowhere": "no accuracy data at 'nowhere'",
        "torn.npz": "torn.npz holds no array 'labels'",
        "unlabelled.npz": "unlabelled.npz holds no array 'labels'",
    }.items():
        with pytest.raises(PlanError, match=told):
            reject_unusable(name)
    reject_unusable("enough")


def test_what_does_not_fit_the_model_is_refused_and_a_damaged_image_named(tmp_path: Path) -> None:
    folder, arrays = str(write_folder(tmp_path / "data", {"a": 1})), tmp_path / "a.npz"
    (tmp_path / "data" / "a" / "001.png").write_bytes(b"no image")
    with pytest.raises(PlanError, match=r"001\.png is no readable image"):
        open_data(folder, SPEC, (64, 3, 224, 224)).images(0, 2)
    with pytest.raises(PlanError, match=r"takes no colour images.*\.npz"):
        open_data(folder, SPEC, (64, 1, 8, 8))
    write_arrays(arrays, 64, 0)
    with pytest.raises(PlanError, match=r"images are \[10\] each and input 'x' takes \[3, 224"):
        open_data(str(arrays), SPEC, (64, 3, 224, 224))
    for labels in (np.zeros(63, int), np.zeros(64), np.full(64, -1)):
        np.savez(arrays, images=np.zeros((64, 10)), labels=labels)
        with pytest.raises(PlanError, match="one label for each image"):
            open_data(str(arrays), TensorSpec("x", "float32", ("batch", 10)), (64, 10))
