"""Where the TensorRT provider of ONNX Runtime keeps its engines, and whether it used one."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.types import axes_key
from runtimes.cuda import libraries
from runtimes.ort.gpu_open import Providers
from runtimes.request import Request

INFER = "libnvinfer.so.10"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")


def engine_folder(request: Request) -> Path | None:
    """A folder of this graph's engines; None where nothing is to be, or can be, kept.

    ONNX Runtime names the files in it by graph and architecture. An engine of another TensorRT
    makes it fail, and one of another GPU with the same architecture is tuned for that GPU: so the
    release and the GPU's name are folders above it.
    """
    model, settings = request.model, request.settings
    if not settings.cache_dir:
        return None
    build = {name: request.options[name] for name in ("tf32", "builder_level")}
    release = libraries.infer_version(INFER)
    key = json.dumps(
        [model.sha256, axes_key(request.axes), settings.precision, build], sort_keys=True
    )
    name = hashlib.sha256(key.encode()).hexdigest()[:32]
    gpu = next((d.name for d in libraries.devices() if d.key == settings.device), "")
    of_gpu = _NOT_IN_NAMES.sub("-", gpu) or "gpu"
    folder = Path(settings.cache_dir) / f"ort-tensorrt-{release}" / of_gpu / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def copy_engines(request: Request, folder: Path) -> Request:
    """The request with engines kept under `folder`, where copies of the kept ones are.

    The times of operators are those of the engine that was timed. If that is gone, the one that
    is built has been tuned with launches that wait, and must not be found by what is timed later.
    """
    settings = request.settings
    there = replace(settings, cache_dir=str(folder) if settings.cache_dir else "")
    copied = replace(request, settings=there)
    kept, own = engine_folder(request), engine_folder(copied)
    if kept is not None and own is not None:
        shutil.copytree(kept, own, dirs_exist_ok=True)
        for timings in kept.parent.glob("*.timing"):
            shutil.copy(timings, own.parent)
    return copied


def cache_warning(providers: Providers, request: Request) -> tuple[Diagnostic, ...]:
    asks = any("trt_builder_optimization_level" in options for _, options in providers)
    wanted = request.settings.cache_dir
    if not (asks and wanted) or _kept_in(providers) is not None:
        return ()
    return (diagnostic("engine_not_stored", folder=wanted),)


def _kept_in(providers: Providers) -> Path | None:
    kept = [options.get("trt_engine_cache_path") for _, options in providers]
    return next((Path(folder) for folder in kept if folder), None)


def engine_files(providers: Providers) -> dict[str, int]:
    folder = _kept_in(providers)
    return {f.name: f.stat().st_mtime_ns for f in folder.glob("*.engine")} if folder else {}


def engine_cache_fact(providers: Providers, before: Mapping[str, int]) -> dict[str, str]:
    """Whether the engine came from the cache, as the files in it tell."""
    if _kept_in(providers) is None:
        return {}
    if not before:
        return {"engine_cache": "miss"}
    return {"engine_cache": "hit" if engine_files(providers) == before else "rebuilt"}
