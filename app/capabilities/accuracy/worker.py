"""The process that measures an accuracy: top-1 over labelled images."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from app.cases.errors import PlanError
from app.cases.jobs import AccuracyJob, AccuracyResult, settings_of
from app.cases.user_files import image_files, needs_pillow, nothing_at, npz_array
from app.workers.process import is_transient, load_for, reason_of, runtime_of_spec, serve
from exporters import install_layout
from exporters.codec import from_json
from exporters.types import ExportedModel, TensorSpec
from runtimes.base import Lane
from runtimes.session.session_group import each

# The usual preprocessing of ImageNet: the shorter side to 256 for a crop of 224 (342 for
# 299), and the mean and deviation of its red, green and blue.
_RESIZE = 256 / 224
_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
_DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)


class Labelled(Protocol):
    """Labels [n], integers from 0, and the images in the same order."""

    labels: np.ndarray

    def images(self, start: int, stop: int) -> np.ndarray:
        """Images start to stop as the model's input takes them, float32."""


def open_data(source: str, spec: TensorSpec, shape: Sequence[int]) -> Labelled:
    """The data of a folder, an .npz or a `module:callable` for an input of `shape` [batch, ...].

    PlanError if they don't fit the input, or the MissingPackage of a definition's own set.
    """
    path = Path(source)
    if path.is_dir():
        return _Folder(path, spec, shape)
    if path.is_file():
        return _Arrays(npz_array(path, "images"), npz_array(path, "labels"), spec, shape)
    if ":" not in source:
        raise nothing_at(source)
    images, labels = install_layout.load(source)()
    return _Arrays(images, labels, spec, shape)


class _Arrays:
    """Images [n, ...] that are already what the model takes."""

    def __init__(
        self, images: np.ndarray, labels: np.ndarray, spec: TensorSpec, shape: Sequence[int]
    ) -> None:
        if images.shape[1:] != tuple(shape[1:]):
            raise PlanError(
                f"the images are {list(images.shape[1:])} each and input {spec.name!r} takes "
                f"{list(shape[1:])}",
                "give them in the shape and scale that the model takes",
            )
        if labels.shape != images.shape[:1] or labels.dtype.kind not in "iu" or labels.min() < 0:
            raise PlanError(
                f"there are {len(images)} images and labels of {labels.dtype} {list(labels.shape)}",
                "give one label for each image, the number of its class from 0",
            )
        self.labels = labels
        self._images = images

    def images(self, start: int, stop: int) -> np.ndarray:
        return self._images[start:stop].astype(np.float32)


class _Folder:
    """One folder for each class, numbered in the order of their names."""

    def __init__(self, path: Path, spec: TensorSpec, shape: Sequence[int]) -> None:
        if len(shape) != 4 or shape[1] != 3:
            raise PlanError(
                f"input {spec.name!r} is {list(shape)} and takes no colour images",
                "give arrays for this model, in an .npz of images and labels",
            )
        self._paths, labels = image_files(path)
        self.labels = np.array(labels, np.int64)
        self._height, self._width = shape[2:]

    def images(self, start: int, stop: int) -> np.ndarray:
        return np.stack([self._read(path) for path in self._paths[start:stop]])

    def _read(self, path: Path) -> np.ndarray:
        """Shorter side resized, the middle cut out, channels first, normalised."""
        try:
            from PIL import Image
        except ImportError:
            raise needs_pillow() from None
        try:
            with Image.open(path) as file:
                image = file.convert("RGB")
        except (OSError, ValueError) as error:
            raise PlanError(f"{path} is no readable image ({error})", "remove it") from None
        scale = max(self._height / image.height, self._width / image.width) * _RESIZE
        size = round(image.width * scale), round(image.height * scale)
        left, top = (size[0] - self._width) // 2, (size[1] - self._height) // 2
        image = image.resize(size, Image.Resampling.BILINEAR)
        image = image.crop((left, top, left + self._width, top + self._height))
        pixels = np.asarray(image, np.float32) / 255.0
        return ((pixels - _MEAN) / _DEVIATION).transpose(2, 0, 1)


def assess(job: AccuracyJob, tell: Callable[[int], None]) -> AccuracyResult:
    """Compile the subject and count its right answers; `tell` hears the images done.

    Raises GraphlapError where model and data do not fit, or the runtime refuses.
    """
    subject, model = job.subject, job.model.at(job.subject.axes)
    source = _only_input(model)
    shape = source.shape_at(model.axes)
    data = open_data(job.data, source, shape)
    runtime = runtime_of_spec(subject.runtime)
    settings = settings_of(subject, job.cache_dir)
    settings = each(runtime, settings)[0]  # what one session computes, any other does too
    load_for(runtime, model, settings)
    with closing(runtime.compile(model, model.axes, settings)) as session:
        right = _right_answers(session.lanes[0], model, source, shape, data, tell)
    images = len(data.labels)
    return AccuracyResult(subject.case_id, job.data, right / images, images, shape[0])


def _only_input(model: ExportedModel) -> TensorSpec:
    if len(model.inputs) != 1:
        raise PlanError(
            f"{model.name} has {len(model.inputs)} inputs", "accuracy needs a model of one"
        )
    if model.batch is None:
        raise PlanError(f"{model.name} has no batch axis", "accuracy needs a model with one")
    return model.inputs[0]


def _right_answers(
    lane: Lane,
    model: ExportedModel,
    source: TensorSpec,
    shape: tuple[int, ...],
    data: Labelled,
    tell: Callable[[int], None],
) -> int:
    """How many images have their label as the largest value of the first output.

    The last batch is filled up with zeros, whose answers are not counted.
    """
    batch, count = shape[0], len(data.labels)
    right = 0
    for start in range(0, count, batch):
        stop = min(start + batch, count)
        inputs = np.zeros(shape, source.dtype)
        inputs[: stop - start] = data.images(start, stop)
        lane.bind({source.name: inputs})
        lane.poison()
        lane.run()
        scores = lane.outputs()[model.outputs[0].name].reshape(batch, -1)
        if scores.shape[1] <= data.labels.max():
            raise PlanError(
                f"{model.name} has {scores.shape[1]} classes and the labels go up to "
                f"{data.labels.max()}",
                "give data of the classes that it was trained on",
            )
        answers = scores[: stop - start].argmax(axis=1)
        right += int((answers == data.labels[start:stop]).sum())
        tell(stop)
    return right


def main() -> int:
    return serve(answer)


def answer(values: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> AccuracyResult:
    """The result of the job in `values`; every failure is a result with its reason."""
    job = from_json(AccuracyJob, values)
    try:
        return assess(job, lambda images: tell({"event": "progress", "images": images}))
    except Exception as error:
        reason, transient = reason_of(error), is_transient(error)
        return AccuracyResult(job.subject.case_id, job.data, reason=reason, transient=transient)


if __name__ == "__main__":
    sys.exit(main())
