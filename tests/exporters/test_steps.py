"""What is kept of an export is found again until something that made it changes, and not longer."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from exporters import cache as steps
from exporters import precision as convert
from exporters import references
from exporters.cache import done, sources
from exporters.messages import ExportRequest
from exporters.models.digits_training import trained
from exporters.onnx_files import source as files_source
from exporters.onnx_files.evaluator import FileEvaluator
from exporters.onnx_files.model_io import copied
from exporters.precision.half_precision import to_fp16
from exporters.precision.int8 import to_int8
from exporters.pytorch import source as pyt_source
from exporters.pytorch.graph import exported
from exporters.pytorch.module import ModuleEvaluator
from exporters.source import write_reference
from exporters.types import PRECISIONS, Made
from exporters.worker import export

EXPORTERS = Path(steps.__file__).parent
NOT_IN_A_KEY = {"cache", "catalogue", "codec", "export", "leases", "request", "steps", "worker"}


@contextmanager
def _executed_files() -> Iterator[set[Path]]:
    """Our files of which a line runs meanwhile, empty ones left out."""
    names: set[str] = set()
    files: set[Path] = set()

    def look(frame: FrameType, event: str, argument: object) -> None:
        names.add(frame.f_code.co_filename)

    sys.setprofile(look)
    try:
        yield files
    finally:
        sys.setprofile(None)
        ours = (Path(name) for name in names if name.startswith(str(EXPORTERS)))
        files.update(path for path in ours if path.stat().st_size)


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[Path]]:
    """The files that each step really used, and by the same names those that are in its key."""
    files_by_step: dict[str, set[Path]] = defaultdict(set)

    def watch_step(store: Any, step: Callable[..., Made], *given: Any, **rest: Any) -> steps.Done:
        @wraps(step)
        def watched_step(*arguments: Any) -> Made:
            with _executed_files() as files:
                made = step(*arguments)
            files_by_step[step.__name__] |= files
            files_by_step[f"key of {step.__name__}"] |= sources(
                step.__module__, *rest.get("extra_modules", ())
            )
            return made

        return done(store, watched_step, *given, **rest)

    for room in (references, files_source, convert, pyt_source):
        monkeypatch.setattr(room, "done", watch_step)
    return files_by_step


def _assert_keys_hold(files_by_step: dict[str, set[Path]], *names: str) -> None:
    for name in names:
        left_out = files_by_step[name] - files_by_step[f"key of {name}"] - {Path(__file__)}
        assert files_by_step[name]
        assert not left_out, f"{name} would be taken from the cache after these have changed"


def test_a_definition_is_exported_anew_when_what_made_it_changes(
    used: dict[str, set[Path]], tmp_path: Path
) -> None:
    for precision in PRECISIONS:
        export(ExportRequest("mlp", precision, ({"batch": 9},), cache_dir=str(tmp_path)))
    _assert_keys_hold(used, "exported", "to_fp16", "to_int8", "write_reference")


def test_a_file_is_kept_anew_when_what_made_it_changes(
    used: dict[str, set[Path]], affine: Path, tmp_path: Path
) -> None:
    inputs, samples = tmp_path / "inputs.npz", tmp_path / "samples.npz"
    np.savez(inputs, x=np.ones((2, 64), np.float32))
    np.savez(samples, x=np.ones((4, 64), np.float32))
    request = ExportRequest(
        str(affine),
        "int8",
        inputs=str(inputs),
        calibration=str(samples),
        to_nodes=("y",),
        cache_dir=str(tmp_path / "cache"),
    )
    export(request)
    _assert_keys_hold(used, "copied", "to_int8", "write_reference")


@pytest.mark.parametrize(
    "module",
    [
        *(step.__module__ for step in (exported, copied, to_fp16, to_int8, write_reference)),
        FileEvaluator.__module__,
        ModuleEvaluator.__module__,
        trained.__module__,
    ],
)
def test_a_change_of_the_store_or_the_pipes_makes_nothing_anew(module: str) -> None:
    names = {path.relative_to(EXPORTERS).with_suffix("").as_posix() for path in sources(module)}
    assert names
    assert not names & NOT_IN_A_KEY


def test_a_change_of_one_definition_exports_no_other_anew() -> None:
    rooms = {path.parent.name for path in sources(exported.__module__)}
    assert not rooms & {"blocks", "cells", "models"}


SOURCES = sorted(Path(steps.__file__).parent.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """By the syntax tree."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def test_every_import_of_our_sources_is_read() -> None:
    assert len(SOURCES) > 70
    missed_imports = {path: imported(path) - set(steps._imports(path)) for path in SOURCES}
    assert not {path: names for path, names in missed_imports.items() if names}
