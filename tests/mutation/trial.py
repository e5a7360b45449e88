"""Tests against a mutant, in a fork that imports the changed source in place of the file's."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from tests.checkout import ROOT
from tests.mutation.sites import Mutant, source_with

LIMIT_S = 20
"""So long may one test take: a loop that never ends is noticed."""
_MODULES = ("numpy", "pandas", "pydantic", "pyarrow", "onnx", "scipy.stats", "pytest")
FOUND, SURVIVED, ODD = "found", "survived", "odd"
_OUTCOMES = {0: SURVIVED, 1: FOUND, 2: FOUND}
"""By pytest's exit code. A file that can't be imported any more is found too."""


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module of another source than its file's, and keeps no bytecode of it."""

    source = b""

    def get_data(self, path: str) -> bytes:
        return self.source

    def path_stats(self, path: str) -> Mapping[str, float]:
        raise OSError


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant) -> None:
        self._file, self._source = mutant.file, source_with(mutant).encode()
        self._name = ".".join(mutant.file.relative_to(ROOT).with_suffix("").parts)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        loader = _Loader(name, str(self._file))
        loader.source = self._source
        return importlib.util.spec_from_file_location(name, self._file, loader=loader)


def outcomes(work: Iterable[tuple[Mutant, Sequence[str]]]) -> Iterable[tuple[Mutant, str]]:
    """Each mutant with what its tests came to, as they end: as many at once as there are cores."""
    for name in _MODULES:
        importlib.import_module(name)
    running: dict[int, Mutant] = {}
    waiting = iter(work)
    cores = os.cpu_count() or 1
    while True:
        while len(running) < cores and (item := next(waiting, None)) is not None:
            running[_start(*item)] = item[0]
        if not running:
            return
        number, status = os.wait()
        yield running.pop(number), _OUTCOMES.get(os.waitstatus_to_exitcode(status), ODD)


def _start(mutant: Mutant | None, tests: Sequence[str]) -> int:
    sys.stdout.flush()
    number = os.fork()
    if number:
        return number
    code = 99
    with contextlib.suppress(BaseException):
        code = _run(mutant, tests)
    os._exit(code)


def _run(mutant: Mutant | None, tests: Sequence[str]) -> int:
    import pytest

    nothing = os.open(os.devnull, os.O_WRONLY)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    if mutant is not None:
        sys.meta_path.insert(0, _Finder(mutant))
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--timeout={LIMIT_S}"]
    return int(pytest.main([*options, *tests]))


def passes(tests: Sequence[str]) -> bool:
    """Whether the tests pass as the source is."""
    _, status = os.waitpid(_start(None, tests), 0)
    return os.waitstatus_to_exitcode(status) == 0


def seconds(start_s: float) -> str:
    return f"{time.monotonic() - start_s:.0f} s"


def root_path(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()
