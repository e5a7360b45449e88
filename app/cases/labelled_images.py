"""Labelled images as they lie on disk: a folder of classes, or an .npz of images and labels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from app.cases.errors import PlanError
from exporters.user_arrays import npz_arrays, npz_headers

_SUFFIXES = frozenset({".jpeg", ".jpg", ".png", ".bmp", ".webp"})
_FORM = "give a folder with one folder of images for each class, or an .npz of images and labels"


def image_files(folder: Path) -> tuple[list[Path], list[int]]:
    """The images of all classes and their labels; PlanError if there are no classes."""
    classes = sorted(path for path in folder.iterdir() if path.is_dir())
    if not classes:
        raise PlanError(f"{folder} holds no folders, so its images have no classes", _FORM)
    pairs = [
        (path, label)
        for label, class_folder in enumerate(classes)
        for path in sorted(class_folder.iterdir())
        if path.suffix.lower() in _SUFFIXES
    ]
    return [path for path, _ in pairs], [label for _, label in pairs]


def npz_array(path: Path, name: str) -> np.ndarray:
    """One array of an .npz; PlanError if it is none or lacks it."""
    with _npz(path, name):
        return npz_arrays(path, [name])[name]


def label_count(path: Path) -> int:
    """How many labels an .npz has, by their header; PlanError if it lacks them or the images."""
    with _npz(path, "labels"):
        headers = npz_headers(path)
        if missing := {"images", "labels"} - headers.keys():
            raise ValueError(f"it lacks {' and '.join(sorted(missing))}")
        return headers["labels"].shape[0] if headers["labels"].shape else 0


@contextmanager
def _npz(path: Path, name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise PlanError(f"{path} holds no array {name!r} ({error})", _FORM) from None


def nothing_at(source: str) -> PlanError:
    return PlanError(f"there is no accuracy data at {source!r}", _FORM)


def needs_pillow() -> PlanError:
    return PlanError(
        "reading images needs Pillow, which is not installed", "pip install 'graphlap[accuracy]'"
    )
