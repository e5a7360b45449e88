"""The folder where runtimes keep what they compiled: engines, kernels, timings of kernels."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from app.cases.errors import PlanError
from exporters.cache import default_limit_bytes, default_root
from exporters.private import private_folder


def folder() -> Path:
    """A part of the cache, which need not be there yet."""
    return default_root() / "engines"


def refuse_unwritable() -> None:
    """PlanError if nothing could be kept there: each round would compile its engine again.

    ExportError for a limit of the cache that is none.
    """
    path = folder()
    default_limit_bytes()
    try:
        private_folder(default_root())
        path.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise PlanError(
            f"the engine cache {path} can't be written ({error.strerror})",
            "set GRAPHLAP_CACHE to a folder of your own",
        ) from None


def size_bytes() -> int:
    """What the kept files take."""
    return sum(path.stat().st_size for path in folder().rglob("*") if path.is_file())


def clear() -> int:
    """Remove all of it; gives the bytes freed. Runs that compile at this moment may fail."""
    freed = size_bytes()
    shutil.rmtree(folder(), ignore_errors=True)
    return freed - size_bytes()
