"""The process that starts cold: `python -m app.workers.cold`, one case, one run, and the end."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from app.cases.cold_start import SCOUT, ColdStart, ColdStartJob
from app.cases.settings import settings_of
from app.workers.page_cache import drop, files_in_use
from app.workers.reason import is_transient, reason_of
from app.workers.serve import serve
from app.workers.starting import in_our_words, limit_threads, prepare, runtime_called, state_of
from exporters.codec import from_json
from exporters.types import axes_key, load_reference
from runtimes.base import Runtime
from runtimes.faults import Unsupported
from runtimes.options import Settings
from runtimes.session.several import compile_sessions, refuse_sessions


def main() -> int:
    return serve(answer)


def answer(values: dict[str, Any], _: Callable[[dict[str, Any]], None]) -> ColdStart:
    """The phases of this process; every failure has its reason."""
    heard_ns = time.monotonic_ns()
    job = from_json(ColdStartJob, values)
    result = ColdStart(job.subject.case_id, job.process)
    try:
        return _started(job, heard_ns, result)
    except Exception as error:
        return replace(result, reason=reason_of(error), transient=is_transient(error))


def _started(job: ColdStartJob, heard_ns: int, result: ColdStart) -> ColdStart:
    """Import, compile, run once. What only we do, and no program that deploys a model would, is in
    no phase: reading inputs, looking at what was compiled, dropping files."""
    settings = settings_of(job.subject, job.cache_dir)
    _prepare(job, settings)
    model = job.model.at(job.subject.axes)
    runtime = runtime_called(job.subject.runtime)
    prepare(runtime, settings)
    _refuse(runtime)
    refuse_sessions(runtime, model, model.axes, settings)
    reference = load_reference(model.references[axes_key(model.axes)])
    kept_share = drop(job.dropped) if job.dropped else None
    phases_ms = {"process": (heard_ns - job.begun_ns) / 1e6}
    with _timed("import", phases_ms):
        runtime.load()
    began_ns = time.perf_counter_ns()
    with closing(compile_sessions(runtime, model, model.axes, settings)) as session:
        spent_ms = (time.perf_counter_ns() - began_ns) / 1e6
        phases_ms["compile"] = spent_ms - session.execution.inspection_ms
        lane = session.lanes[0]
        lane.enter()
        lane.bind(reference.inputs)
        with in_our_words(session), _timed("first_inference", phases_ms):
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
    began_ns = time.perf_counter_ns()
    yield
    phases_ms[phase] = (time.perf_counter_ns() - began_ns) / 1e6


if __name__ == "__main__":
    sys.exit(main())
