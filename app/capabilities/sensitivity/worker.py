"""The process that doubles assumed values of one case."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from app.cases.jobs import Sensitivity, SensitivityJob, settings_of
from app.workers.process import (
    is_transient,
    limit_threads,
    load_for,
    reason_of,
    runtime_of_spec,
    serve,
)
from exporters.codec import from_json
from exporters.inputs import Arrays, cast_inputs, seeded_inputs
from exporters.types import ExportedModel, Reference, axes_key, load_reference, save_reference
from runtimes.base import Runtime, Session
from runtimes.errors import OutOfMemory
from runtimes.options import Settings
from runtimes.session.session_group import each

TURNS, TURN_S = 5, 0.06
"""So many turns of each of the two, of so many seconds or one run."""
_MAKING = 2.0
"""To compile and to run at twice the size takes so many times as long as at the size, or longer."""


def main() -> int:
    return serve(answer)


def answer(values: dict[str, Any], _: Callable[[dict[str, Any]], None]) -> Sensitivity:
    """How many times as long a run takes with each value doubled."""
    job = from_json(SensitivityJob, values)
    factors: dict[str, float | None] = {}
    reason, transient = "", False
    try:
        for name, factor in _factors(job):
            factors[name] = factor
    except Exception as error:
        reason, transient = reason_of(error), is_transient(error)
    transient = transient or not (factors or reason)  # a resumed run has more time
    left_out = len(job.names) - len(factors)
    return Sensitivity(job.case.case_id, factors, left_out, reason, transient)


def _factors(job: SensitivityJob) -> Iterator[tuple[str, float | None]]:
    """The factors that there is time for, None for a value of which the graph takes no other."""
    end_s = time.perf_counter() + job.budget_s
    settings = settings_of(job.case, job.cache_dir)
    limit_threads(settings.threads)
    model, runtime = job.model.at(job.case.axes), runtime_of_spec(job.case.runtime)
    settings = each(runtime, settings)[0]
    load_for(runtime, model, settings)
    inputs = load_reference(model.references[axes_key(model.axes)]).inputs

    start_s = time.perf_counter()
    with closing(_opened(runtime, model, inputs, settings)) as session:
        made_s = time.perf_counter() - start_s
        least_s = _MAKING * made_s + 2 * TURNS * max(TURN_S, _MAKING * _time(session, 0.0))
        for name in job.names:
            if time.perf_counter() + least_s > end_s:
                return
            factor = None
            for doubled, arrays in _doubled(model, name, inputs):
                try:
                    with closing(_opened(runtime, doubled, arrays, settings)) as other:
                        factor = _ratio(session, other, end_s)
                    break
                except (MemoryError, OutOfMemory):
                    raise
                except Exception:
                    continue
            yield name, factor


def _opened(runtime: Runtime, model: ExportedModel, arrays: Arrays, settings: Settings) -> Session:
    """A session that has run once with these inputs."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "inputs.npz")
        save_reference(path, Reference(arrays, {}))
        model = replace(model, references={axes_key(model.axes): path})
        session = runtime.compile(model, model.axes, settings)
    try:
        session.lanes[0].bind(arrays)
        session.lanes[0].run()
    except BaseException:
        session.close()
        raise
    return session


def _doubled(
    model: ExportedModel, name: str, inputs: Arrays
) -> Iterator[tuple[ExportedModel, Arrays]]:
    """The model and inputs with this value doubled: an input's, or an axis with those that seem to
    be sums of it and another, then without them."""
    specs = {spec.name: spec for spec in model.inputs}
    if name not in model.axes:
        spec = replace(specs[name], fill=tuple((*terms, *terms) for terms in specs[name].fill))
        drawn = cast_inputs(seeded_inputs([spec], model.axes, 0), [spec], model.precision)
        yield model, {**inputs, **drawn}
        return
    size = model.axes[name]
    others = [n for axis, n in model.axes.items() if axis != name]
    sums = {axis: n + size for axis, n in model.axes.items() if axis != name and n - size in others}
    for changed in ({**sums, name: 2 * size}, *([{name: 2 * size}] if sums else [])):
        axes = {**model.axes, **changed}
        arrays = cast_inputs(seeded_inputs(model.inputs, axes, 0), model.inputs, model.precision)
        yield replace(model, axes=axes), arrays


def _ratio(session: Session, other: Session, end_s: float) -> float:
    """The median of the ratios of neighbouring turns, so that the machine's speed cancels."""
    ratios: list[float] = []
    while not ratios or (len(ratios) < TURNS and time.perf_counter() < end_s):
        first_s = _time(session, TURN_S)
        ratios.append(_time(other, TURN_S) / first_s)
    return median(ratios)


def _time(session: Session, seconds: float) -> float:
    """The median time of a run, of as many as begin in so many seconds."""
    run, times, begin_s = session.lanes[0].run, list[float](), time.perf_counter()
    while not times or time.perf_counter() - begin_s < seconds:
        start_s = time.perf_counter()
        run()
        times.append(time.perf_counter() - start_s)
    return median(times)


if __name__ == "__main__":
    sys.exit(main())
