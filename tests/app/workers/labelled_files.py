"""Labelled data of known difficulty, and a graph whose right answers can be counted by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from PIL import Image

from tests.exporters.support import model_of

CLASSES = 10


def write_echo_graph(path: Path) -> Path:
    """An .onnx classifier whose answer is the largest of the ten numbers that it is given."""
    onnx.save(model_of("(float[batch,10] x) => (float[batch,10] y) { y = Identity(x) }"), path)
    return path


def write_arrays(path: Path, count: int, wrong: int) -> Path:
    """One-hot images of labels 0 to 9 in turn; the last `wrong` labels are not the image's."""
    labels = np.arange(count) % CLASSES
    images = np.eye(CLASSES, dtype=np.float32)[labels]
    labels[count - wrong :] = (labels[count - wrong :] + 1) % CLASSES
    np.savez(path, allow_pickle=False, images=images, labels=labels)
    return path


def write_folder(path: Path, classes: dict[str, int], size: tuple[int, int] = (8, 8)) -> Path:
    """A folder for each class with so many images, all of the colour (class number, 0, 255)."""
    for number, (name, count) in enumerate(sorted(classes.items())):
        (path / name).mkdir(parents=True)
        for index in range(count):
            Image.new("RGB", size, (number, 0, 255)).save(path / name / f"{index:03}.png")
    return path
