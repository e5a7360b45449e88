"""A neighbour, `python -m app.workers.neighbour`: one session at work until it is told to end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

from app.cases.round import NeighbourJob, NeighbourResult, Stretch
from app.cases.scenario import CLOSED_LOOP
from app.workers.lanes import OneLane
from app.workers.process import StopRequest, load_for, reason_of, runtime_of_spec, serve
from exporters.codec import from_json
from exporters.types import GraphlapError, axes_key, load_reference
from runtimes.base import Session

BLOCK_S = 0.05
"""How often it hears whether it is to end."""
WORKING = "working"
"""The event that its runs have begun."""

Tell = Callable[[dict[str, Any]], None]


def main() -> int:
    return serve(_work)


def _work(values: dict[str, Any], tell: Tell) -> NeighbourResult:
    job = from_json(NeighbourJob, values)
    try:
        runtime = runtime_of_spec(job.runtime)
        load_for(runtime, job.model, job.settings)
        with closing(runtime.compile(job.model, job.model.axes, job.settings)) as session:
            return NeighbourResult(_stretches(job, session, tell))
    except GraphlapError as error:
        return NeighbourResult(status=error.status or "run_failed", reason=reason_of(error))  # type: ignore[arg-type]


def _stretches(job: NeighbourJob, session: Session, tell: Tell) -> tuple[Stretch, ...]:
    """Runs of the first lane, stretch by stretch, until the parent says a word or is gone."""
    lane, stop_request = session.lanes[0], StopRequest()
    lane.enter()
    lane.bind(load_reference(job.model.references[axes_key(job.model.axes)]).inputs)
    first_start_ns = time.perf_counter_ns()
    lane.run()
    first_ns = float(time.perf_counter_ns() - first_start_ns)
    stretches = []
    with OneLane(lane, CLOSED_LOOP, "spin", bool(job.model.states), first_ns) as lanes:
        tell({"event": WORKING})
        while not stop_request():
            records = lanes.block(BLOCK_S, minimum=1)
            start_ns, end_ns = records["started_ns"].min(), records["finished_ns"].max()
            stretches.append(Stretch(int(start_ns), int(end_ns), len(records)))
    return tuple(stretches)


if __name__ == "__main__":
    sys.exit(main())
