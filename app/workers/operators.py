"""The process that tells operator times: `python -m app.workers.operators`, one case."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np

from app.cases.operators import OperatorJob, OperatorTimes
from app.workers.serve import serve
from exporters.codec import from_json
from exporters.types import GraphlapError, axes_key, load_reference
from runtimes import registry
from runtimes.base import Unavailable
from runtimes.execution import AfterCompletion
from runtimes.faults import NotAvailable

FOR_S = 0.5
LEAST_RUNS, MOST_RUNS = 5, 100
"""Enough runs for a mean; profilers keep every run of every operator in memory."""


def main() -> int:
    return serve(answer)


def answer(values: dict[str, Any], _: Callable[[dict[str, Any]], None]) -> OperatorTimes:
    """The operator times of the case in `values`; every failure has its reason."""
    request = from_json(OperatorJob, values)
    try:
        return operator_times(request)
    except GraphlapError as error:
        reason = str(error)
    except Exception as error:
        traceback.print_exception(error, file=sys.stderr)
        reason = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    return OperatorTimes(request.case.case_id, reason=reason)


def operator_times(request: OperatorJob) -> OperatorTimes:
    """Compile the case for it, run it as the round did, and take the times."""
    case, settings = request.case, request.settings
    model = request.model.at(case.axes)
    runtime = registry.load(registry.parse_spec(case.runtime).name)
    os.environ.update(runtime.operator_environment)
    state = runtime.availability()
    if isinstance(state, Unavailable):
        raise NotAvailable(state.reason, state.remedy)
    runtime.refuse(model, model.axes, settings)
    runtime.load()
    reference = load_reference(model.references[axes_key(model.axes)])
    with closing(runtime.compile(model, model.axes, settings)) as session:
        session.lanes[0].bind(reference.inputs)
        if session.execution.clock == "simulated":
            # How much is done before a request arrives depends on the pause before it.
            arrivals = AfterCompletion(1, round(case.scenario.gap_us * 1e3))
            session.simulate(arrivals, np.random.default_rng(0))
            runs = 1
        else:
            runs = _enough_runs(session.lanes[0].run)
        return OperatorTimes(
            case.case_id, session.execution.clock, runs, tuple(session.operator_times(runs))
        )


def _enough_runs(run: Callable[[], object]) -> int:
    run()
    begun = time.perf_counter()
    run()
    spent_s = time.perf_counter() - begun
    return int(min(max(FOR_S / max(spent_s, 1e-6), LEAST_RUNS), MOST_RUNS))


if __name__ == "__main__":
    sys.exit(main())
