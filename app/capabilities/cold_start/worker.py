"""The process of a cold start: one case, evicted files, one run."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.cases.jobs import SCOUT, ColdStart, ColdStartJob, settings_of
from app.workers.process import (
    is_transient,
    limit_threads,
    prepare,
    reason_of,
    runtime_of_spec,
    serve,
    state_of,
    translate_errors,
)
from exporters.codec import from_json
from exporters.types import axes_key, load_reference
from runtimes.base import Runtime
from runtimes.errors import Unsupported
from runtimes.options import Settings
from runtimes.session.session_group import compile_sessions, refuse_sessions

_MAP_FAILED = ctypes.c_void_p(-1).value
_MAPS = Path("/proc/self/maps")


def files_in_use() -> set[str]:
    """The files that this process has mapped, and those that its modules came from."""
    modules = [getattr(module, "__spec__", None) for module in tuple(sys.modules.values())]
    module_files = {getattr(spec, name, None) for spec in modules for name in ("origin", "cached")}
    return mapped_files() | {
        path for path in module_files if isinstance(path, str) and _is_file(path)
    }


def mapped_files() -> set[str]:
    """The files that are mapped into this process: those can't be dropped."""
    lines = _MAPS.read_text("utf-8", "surrogateescape").splitlines() if _MAPS.exists() else []
    fields = (line.split(maxsplit=5) for line in lines)
    return {field[5] for field in fields if len(field) == 6 and _is_file(field[5])}


def drop(paths: Iterable[str]) -> float:
    """Have the system forget the files; the share of their bytes that is still in memory.

    What this process has mapped itself is left out: the interpreter and numpy are here already.
    """
    resident = total = 0
    for path in sorted(set(paths) - mapped_files()):
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError:
            continue  # gone since, as a file that an engine unpacks for itself
        try:
            os.fsync(descriptor)  # pages that are not written yet can't be dropped
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            size = os.fstat(descriptor).st_size
            resident += _pages_in_memory(descriptor, size)
            total += _pages(size)
        finally:
            os.close(descriptor)
    return resident / total if total else 0.0


def _pages_in_memory(descriptor: int, size: int) -> int:
    """How many pages of a file are in memory, as `mincore` tells without reading one of them."""
    if not size:
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int),
        ctypes.c_long,
    ]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if address == _MAP_FAILED:
        return _pages(size)
    page_flags = ctypes.create_string_buffer(_pages(size))
    error_code = libc.mincore(address, size, page_flags)
    libc.munmap(address, size)
    return _pages(size) if error_code else sum(byte & 1 for byte in page_flags.raw)


def _pages(size: int) -> int:
    return -(-size // mmap.PAGESIZE)


def _is_file(path: str) -> bool:
    return path.startswith("/") and os.path.isfile(path)  # noqa: PTH113 - of thousands of names


def main() -> int:
    return serve(answer)


def answer(values: dict[str, Any], _: Callable[[dict[str, Any]], None]) -> ColdStart:
    """The phases of this process; every failure has its reason."""
    received_ns = time.monotonic_ns()
    job = from_json(ColdStartJob, values)
    result = ColdStart(job.subject.case_id, job.process)
    try:
        return _measure_start(job, received_ns, result)
    except Exception as error:
        return replace(result, reason=reason_of(error), transient=is_transient(error))


def _measure_start(job: ColdStartJob, received_ns: int, result: ColdStart) -> ColdStart:
    """Import, compile, run once. What only we do, and no program that deploys a model would, is in
    no phase: reading inputs, looking at what was compiled, dropping files."""
    settings = settings_of(job.subject, job.cache_dir)
    _prepare(job, settings)
    model = job.model.at(job.subject.axes)
    runtime = runtime_of_spec(job.subject.runtime)
    prepare(runtime, settings)
    _refuse(runtime)
    refuse_sessions(runtime, model, model.axes, settings)
    reference = load_reference(model.references[axes_key(model.axes)])
    kept_share = drop(job.dropped) if job.dropped else None
    phases_ms = {"process": (received_ns - job.begun_ns) / 1e6}
    with _timed("import", phases_ms):
        runtime.load()
    start_ns = time.perf_counter_ns()
    with closing(compile_sessions(runtime, model, model.axes, settings)) as session:
        spent_ms = (time.perf_counter_ns() - start_ns) / 1e6
        phases_ms["compile"] = spent_ms - session.execution.inspection_ms
        lane = session.lanes[0]
        lane.enter()
        lane.bind(reference.inputs)
        with translate_errors(session), _timed("first_inference", phases_ms):
            lane.run()
        files = (*sorted(files_in_use()), model.path) if job.process == SCOUT else ()
    return replace(result, phases_ms=phases_ms, kept_share=kept_share, files=files)


def _prepare(job: ColdStartJob, settings: Settings) -> None:
    if job.affinity and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, job.affinity)
    limit_threads(settings.threads)


def _refuse(runtime: Runtime) -> None:
    state_of(runtime)
    if runtime.clock == "simulated":
        raise Unsupported(
            "a simulated card takes no time to start that a real one would take",
            "remove it from --cold-start",
        )


@contextmanager
def _timed(phase: str, phases_ms: dict[str, float]) -> Iterator[None]:
    start_ns = time.perf_counter_ns()
    yield
    phases_ms[phase] = (time.perf_counter_ns() - start_ns) / 1e6


if __name__ == "__main__":
    sys.exit(main())
