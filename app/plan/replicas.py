"""`--replicas 1,2,4`: short for so many sessions of every runtime, and for work that they share."""

from __future__ import annotations

from collections.abc import Sequence

from app.cases.errors import PlanError
from app.machine.available import runtime
from app.plan.plan import Plan, Sweep
from runtimes.options import SESSIONS
from runtimes.registry import parse_spec

_OTHER_RUNS = ("tune", "slo", "largest_batch")
_SHARED_WORK = "offline"


def replicated(plan: Plan, sweep: Sweep, runtimes: Sequence[str]) -> Sweep:
    """The grid with its replicas as sessions, one among them; PlanError where there are none to be.

    They share the work of `offline`, unless the grid has scenarios of its own. A runtime without
    sessions is measured with one.
    """
    if not sweep.replicas:
        return sweep
    for name in _OTHER_RUNS:
        if getattr(plan, name):
            raise PlanError(f"replicas and {name} ask for different runs", "give one of them")
    names = dict.fromkeys(parse_spec(text).name for text in runtimes)
    able = [name for name in names if SESSIONS in runtime(name).options]
    if not able:
        raise PlanError(
            f"{', '.join(names)} can't run several sessions at once, and replicas are sessions",
            "leave --replicas out, or name another runtime",
        )
    keys = [f"{name}.{SESSIONS.name}" for name in able]
    for key in keys:
        if key in sweep.options:
            raise PlanError(f"replicas and {key} both say how many sessions", "give one of them")
    counts = tuple(sorted({1, *sweep.replicas}))
    asked = sweep.scenarios != Sweep.model_fields["scenarios"].default
    return sweep.model_copy(
        update={
            "options": {**sweep.options, **dict.fromkeys(keys, counts)},
            "scenarios": sweep.scenarios if asked else (_SHARED_WORK,),
        }
    )
