"""Settings that stand for a curve of cases: replicas, and gaps between requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from app.cases.errors import PlanError
from app.machine.installed_runtimes import each_device_of, runtime
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from runtimes.options import SESSIONS
from runtimes.registry import parse_spec
from runtimes.session.session_group import uneven

SHARED_WORK = "offline"
"""The scenario of replicas, unless a grid has its own."""


def replica_grids(sweep: Sweep, runtimes: Sequence[str]) -> tuple[Sweep, ...]:
    """The grid of these runtimes with its replicas as sessions, one among them, in parts that each
    name their runtimes; PlanError where there are none to be.

    They share the work of `offline`, unless the grid has scenarios of its own. A runtime without
    sessions is measured with one. Over several devices the replicas are counted together, and one
    is measured on the first of them.
    """
    if not sweep.replicas:
        return (sweep.model_copy(update={"runtimes": tuple(runtimes)}),)
    names = dict.fromkeys(parse_spec(text).name for text in runtimes)
    capable = [name for name in names if SESSIONS in runtime(name).options]
    if not capable:
        raise PlanError(
            f"{', '.join(names)} can't run several sessions at once, and replicas are sessions",
            "remove --replicas, or name another runtime",
        )
    for name in capable:
        if f"{name}.{SESSIONS.name}" in sweep.options:
            raise PlanError(
                f"replicas and {name}.{SESSIONS.name} both set the number of sessions",
                "give one of them",
            )
    multi_device = [text for text in runtimes if len(each_device_of(text)) > 1]
    _reject_uneven(multi_device, sweep.replicas)
    single = [text for text in runtimes if text not in multi_device]
    counts = tuple(sorted({1, *sweep.replicas}))
    parts = (
        (single, counts),
        (list(_first_devices(multi_device, single)), (1,)),
        (multi_device, counts[1:]),
    )
    return tuple(
        with_sessions(sweep, capable, several).model_copy(update={"runtimes": tuple(specs)})
        for specs, several in parts
        if specs
    )


def with_sessions(sweep: Sweep, names: Iterable[str], counts: tuple[int, ...]) -> Sweep:
    """The grid with so many sessions of these runtimes, by name, and with work that they share."""
    has_scenarios = sweep.scenarios != Sweep.model_fields["scenarios"].default
    keys = [f"{name}.{SESSIONS.name}" for name in names]
    return sweep.model_copy(
        update={
            "options": {**sweep.options, **dict.fromkeys(keys, counts)},
            "scenarios": sweep.scenarios if has_scenarios else (SHARED_WORK,),
        }
    )


def _first_devices(multi_device: Iterable[str], single: Sequence[str]) -> Iterator[str]:
    """The first device of each, unless that is measured by itself anyway."""
    for first in dict.fromkeys(each_device_of(text)[0] for text in multi_device):
        spec = parse_spec(first)
        usual = spec.device == runtime(spec.name).default_device
        if first not in single and not (usual and spec.name in single):
            yield first


def _reject_uneven(multi_device: Iterable[str], replicas: Sequence[int]) -> None:
    """PlanError for replicas that several devices can't have equally many of."""
    for text in multi_device:
        spec, devices = parse_spec(text), len(each_device_of(text))
        for count in [count for count in replicas if count > 1] or [1]:
            if count % devices:
                raise PlanError(
                    uneven(runtime(spec.name), spec.device, count),
                    f"give --replicas {devices}, or a multiple of it",
                )


MINIMUM_GAPS = 3
"""Two gaps are a comparison and no curve."""


def reject_without_gaps(plan: Plan) -> None:
    """PlanError for a plan of which no curve over gaps can come."""
    paced_scenarios = (
        {t for t in sweep.scenarios if t.startswith("paced")} for sweep in plan.sweeps
    )
    if max(map(len, paced_scenarios)) < MINIMUM_GAPS:
        raise PlanError(
            "--plot draws latency over pauses, and the plan has fewer than three",
            "add --idle-sweep 20us..1s, or remove --plot",
        )
