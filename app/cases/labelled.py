"""Labelled images as they lie on disk: a folder of classes, or an .npz of images and labels."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from app.cases.errors import PlanError

_SUFFIXES = frozenset({".jpeg", ".jpg", ".png", ".bmp", ".webp"})
_FORM = "give a folder with one folder of images for each class, or an .npz of images and labels"


def image_files(folder: Path) -> tuple[list[Path], list[int]]:
    """The images of all classes and their labels; PlanError if there are no classes."""
    classes = sorted(path for path in folder.iterdir() if path.is_dir())
    if not classes:
        raise PlanError(f"{folder} holds no folders, so its images have no classes", _FORM)
    found = [
        (path, label)
        for label, one in enumerate(classes)
        for path in sorted(one.iterdir())
        if path.suffix.lower() in _SUFFIXES
    ]
    return [path for path, _ in found], [label for _, label in found]


def npz_array(path: Path, name: str) -> np.ndarray:
    """One array of an .npz; PlanError if it is none or lacks it."""
    try:
        with path.open("rb") as file:
            archive: Any = np.load(file, allow_pickle=False)
            array: np.ndarray = archive[name]
    except (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile) as error:
        raise PlanError(f"{path} holds no array {name!r} ({error})", _FORM) from None
    return array


def nothing_at(source: str) -> PlanError:
    return PlanError(f"there is no accuracy data at {source!r}", _FORM)


def needs_pillow() -> PlanError:
    return PlanError(
        "reading images needs Pillow, which is not installed", "pip install 'graphlap[accuracy]'"
    )
