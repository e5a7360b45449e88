"""What was dropped on the window, or named when it was started, by what it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QMimeData

from app.run_folder.manifest import MANIFEST
from exporters.types import FILE_ENDINGS, GraphlapError

TAKEN = "drop run folders, .toml plans or .onnx models"


@dataclass(frozen=True, slots=True)
class Dropped:
    """Paths in the order in which they came."""

    runs: tuple[Path, ...] = ()
    plans: tuple[Path, ...] = ()
    models: tuple[Path, ...] = ()


def paths_of(data: QMimeData) -> list[Path]:
    """Files and folders of this machine; GraphlapError for anything else."""
    if not data.hasUrls():
        raise GraphlapError("what was dropped names no file", TAKEN)
    for url in data.urls():
        if not url.isLocalFile():
            raise GraphlapError(f"{url.toString()} is no file of this machine", TAKEN)
    return [Path(url.toLocalFile()) for url in data.urls()]


def sorted_out(paths: Iterable[Path]) -> Dropped:
    """GraphlapError names the first that the window can do nothing with."""
    runs: list[Path] = []
    plans: list[Path] = []
    models: list[Path] = []
    for path in paths:
        inside = sorted(path.glob("*.onnx")) if path.is_dir() else []
        if path.is_dir() and inside and not (path / MANIFEST).is_file():
            models += inside
        elif path.is_dir():
            runs.append(path)
        elif path.suffix.lower() == ".toml":
            plans.append(path)
        elif path.suffix.lower() in FILE_ENDINGS:
            models.append(path)
        elif (path.parent / MANIFEST).is_file():
            runs.append(path.parent)  # one of its files stands for the run
        else:
            raise GraphlapError(f"{path.name!r} can't be opened", TAKEN)
    if len(plans) > 1:
        raise GraphlapError(f"{len(plans)} plans can't be opened at once", "drop one of them")
    return Dropped(tuple(dict.fromkeys(runs)), tuple(plans), tuple(models))
