"""Labelled images from a folder of classes, from arrays, or from a definition's own set.

`open_data` gives the images as a model takes them, a few at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from app.cases.errors import PlanError
from app.cases.labelled import image_files, needs_pillow, nothing_at, npz_array
from exporters import own
from exporters.types import TensorSpec

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
    images, labels = own.load(source)()
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
