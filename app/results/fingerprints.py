"""What a run depends on beside the files that it copies: known by content, to notice a change.

Models, what a factory imports, a model's or images' folder, descriptions of cards, libraries of
execution providers, files of shapes and interpreters. A run that is resumed must find all of them
as they were.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.cases.case import Case
from exporters.factory_file import (
    HUGGING_FACE,
    factory_path,
    is_factory_file,
    is_hugging_face,
)
from exporters.factory_imports import local_imports
from exporters.regular import open_file
from exporters.twins import is_null, original_of
from runtimes.registry import parse_spec


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A file by its content, a folder by the names and sizes of what is in it."""

    path: str
    sha256: str


def fingerprints(
    cases: Iterable[Case], accuracy: str = "", environments: Mapping[str, str] | None = None
) -> tuple[Fingerprint, ...]:
    """Of all that can be read now, each once; what can't be read, its own stage reports."""
    paths = {path: None for case in cases for path in _paths(case)}
    paths |= dict.fromkeys([accuracy] if accuracy and Path(accuracy).is_dir() else [])
    paths |= dict.fromkeys((environments or {}).values())
    found: list[Fingerprint] = []
    for path in paths:
        with contextlib.suppress(OSError):
            found.append(Fingerprint(path, fingerprint(Path(path))))
    return tuple(found)


def fingerprint(path: Path) -> str:
    """The sha256 of a file's content, or of the list of a folder's files; OSError."""
    path = path.expanduser()
    if path.is_dir():
        return _of_folder(path)
    try:
        with open_file(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except ValueError:  # no file has a NUL in its name
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None


def _of_folder(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = os.fsencode(path.relative_to(folder))
        digest.update(b"%s\0%d\0" % (name, path.stat().st_size))
    return digest.hexdigest()


def _paths(case: Case) -> Iterator[str]:
    for name in filter(None, (case.model, case.condition.model)):
        model = original_of(name) if is_null(name) else name
        if is_factory_file(model):
            yield from map(str, local_imports(factory_path(model)))
        elif is_hugging_face(model):
            folder = Path(model.removeprefix(HUGGING_FACE)).expanduser()
            if folder.is_dir():
                yield str(folder)
                yield from (str(path) for path in sorted(folder.iterdir()) if path.is_file())
        elif model.endswith(".onnx"):
            yield model
    if case.condition.file:
        yield case.condition.file
    for device in parse_spec(case.runtime).device.split("+"):
        if device and Path(device).is_file():
            yield device
