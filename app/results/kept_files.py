"""The user's own files that a run depends on: named by their content, the small ones copied.

A factory, inputs, weights and the like may change after a run; `files/` in its folder holds what
they were. An .onnx is not copied: what it was made of is told by its export, in the journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from app.cases.case import Case
from app.cases.errors import PlanError
from exporters.digest import file_sha256
from exporters.factory_file import factory_path, is_factory_file

FOLDER = "files"
LARGEST_COPY_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file as the plan names it; `kept` is its copy within the run folder, empty for a large
    one, of which only the hash is kept."""

    path: str
    sha256: str
    kept: str = ""


def kept_files(cases: Iterable[Case], accuracy: str = "") -> tuple[KeptFile, ...]:
    """What the cases are made of, each file once; PlanError for one that can't be read."""
    paths = {path: None for case in cases for path in _paths(case)}
    if accuracy and Path(accuracy).is_file():
        paths[accuracy] = None
    return tuple(map(_kept, paths))


def _paths(case: Case) -> Iterator[str]:
    for model in (case.model, case.condition.model):
        if is_factory_file(model):
            yield str(factory_path(model))
    yield from case.given.files


def _kept(path: str) -> KeptFile:
    file = Path(path)
    if file.exists() and not file.is_file():  # a pipe would be waited for
        raise PlanError(f"{path} is no file", "give a file")
    try:
        digest, size = file_sha256(file), file.stat().st_size
    except OSError as error:
        raise PlanError(f"{path} can't be read ({error.strerror})", "give a file") from None
    copied = size <= LARGEST_COPY_BYTES
    return KeptFile(path, digest, f"{FOLDER}/{digest}{file.suffix}" if copied else "")
