"""What a run depends on beside the files that it copies: known by content, to notice a change.

Models, what a factory imports, a model's or images' folder, descriptions of cards, libraries of
execution providers, also those that packages bring, files of shapes and interpreters. A run that
is resumed must find all of them as they were.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from app.cases.case import Case
from app.machine.device_library import device_library
from exporters.factory_file import (
    HUGGING_FACE,
    factory_path,
    is_factory_file,
    is_hugging_face,
)
from exporters.factory_imports import local_imports
from exporters.regular import open_file
from exporters.twins import is_null, original_of
from exporters.types import FILE_ENDINGS
from runtimes.registry import parse_spec


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A file by its content, a folder by the names and sizes of what is in it.

    `runtime` is the `name:package[@environment]` whose library the file is: where its package lies
    is asked anew, so that another build of it is noticed wherever it is installed.
    """

    path: str
    sha256: str
    runtime: str = ""


def fingerprints(
    cases: Sequence[Case],
    accuracy: str = "",
    environments: Mapping[str, str] = MappingProxyType({}),
    *,
    elsewhere: bool = False,
) -> tuple[Fingerprint, ...]:
    """Of all that can be read now, each once; what can't be read, its own stage reports.

    Cases that are measured `elsewhere` load no library of this machine's packages.
    """
    paths = {path: None for case in cases for path in _paths(case)}
    paths |= dict.fromkeys([accuracy] if accuracy and Path(accuracy).is_dir() else [])
    paths |= dict.fromkeys(environments.values())
    found: list[Fingerprint] = []
    for path in paths:
        with contextlib.suppress(OSError):
            found.append(Fingerprint(path, fingerprint(Path(path))))
    if not elsewhere:
        found += _of_packages(cases, environments)
    return tuple(found)


def _of_packages(cases: Iterable[Case], environments: Mapping[str, str]) -> Iterator[Fingerprint]:
    """Of the libraries that packages bring, by the runtimes that are named by them."""
    specs = dict.fromkeys(case.runtime for case in cases)
    for spec in specs:
        if Path(parse_spec(spec).device).is_file():
            continue  # it is known by its path
        path = device_library(spec, environments)
        if path:
            with contextlib.suppress(OSError):
                yield Fingerprint(path, fingerprint(Path(path)), spec)


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
        elif model.endswith(FILE_ENDINGS):
            yield model
    if case.condition.file:
        yield case.condition.file
    for device in parse_spec(case.runtime).device.split("+"):
        if device and Path(device).is_file():
            yield device
