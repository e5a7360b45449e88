"""The studies that ship, by name: each is a plan, made of suites and of grids of its own.

A study of several plans is a folder of them: its parts are called `STUDY/PART`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from typing import Any

from app.cases.case import Case
from app.cases.errors import PlanError, suggestion
from app.machine.available import available_names, clock_of, grid_runtimes, runtime
from app.plan.plan import Plan, Sweep, parse_plan
from app.plan.plan_files import load_suite
from app.plan.replicas import SHARED_WORK, with_sessions
from exporters import own
from runtimes import registry
from runtimes.options import SESSIONS
from runtimes.registry import parse_spec

_FOLDER, _ENDING = "studies", ".toml"


def study_names() -> tuple[str, ...]:
    """The plans of studies that ship, in alphabetical order."""
    return tuple(sorted(_named(own.asset(_FOLDER), "")))


def _named(folder: Traversable, within: str) -> Iterator[str]:
    for file in folder.iterdir():
        if file.is_dir():
            yield from _named(file, f"{within}{file.name}/")
        elif file.name.endswith(_ENDING):
            yield within + file.name.removesuffix(_ENDING)


def load_study(name: str) -> Plan:
    """The plan of a study, its grids in the order of its `suites` and then its own.

    Keys of a grid beside the `suites` are laid over the suites' grids. A grid that names no
    runtimes has those of `with_runtimes` to come. PlanError suggests the nearest name.
    """
    known = study_names()
    if name not in known:
        raise PlanError(f"there is no study called {name!r}", suggestion(name, known))
    data = tomllib.loads(own.asset(_FOLDER, *f"{name}{_ENDING}".split("/")).read_text("utf-8"))
    laid = {key: data.pop(key) for key in Sweep.model_fields if key in data}
    grids = [
        {**grid, **laid}
        for suite in data.pop("suites", ())
        for grid in load_suite(suite).model_dump(exclude_unset=True)["sweeps"]
    ]
    data["sweeps"] = [*grids, *data.get("sweeps", ())]
    return parse_plan({"name": f"study-{name.replace('/', '-')}", **data}, f"the study {name}")


def is_part(case: Case, study: Plan) -> bool:
    """Whether a study measures this case, of whichever run it is: not of another batch, pacing or
    option. What a search tries is known by its model alone."""
    if study.is_search:
        return any(case.model in grid.models for grid in study.sweeps)
    return any(_is_point(case, _spelled(grid, case)) for grid in study.sweeps)


def _spelled(grid: Sweep, case: Case) -> Sweep:
    """The grid with its replicas as options of the case's runtime, where that has sessions."""
    name = parse_spec(case.runtime).name
    known = runtime(name).options if grid.replicas else ()
    return with_sessions(grid, [name], (1, *grid.replicas)) if SESSIONS in known else grid


def _is_point(case: Case, grid: Sweep) -> bool:
    sizes = {"batch": grid.batch_size, "sequence": grid.sequence_length, **grid.axes}
    return (
        case.model in grid.models
        and (not grid.runtimes or case.runtime in grid.runtimes)
        and case.precision in grid.precisions
        and case.threads in grid.threads
        and str(case.scenario) in grid.scenarios
        and str(case.condition) in grid.conditions
        and case.batcher is None
        and all(size in asked for name, size in case.axes.items() if (asked := sizes.get(name)))
        and all(
            value in grid.options.get(f"{parse_spec(case.runtime).name}.{name}", ())
            for name, value in case.options.items()
        )
    )


def with_runtimes(grid: dict[str, Any], asked: list[str] | None) -> dict[str, Any]:
    """The grid on the runtimes it names, else on those asked for, else on this machine's.

    Those are all that are here and have a real clock: what a study simulates, it names.
    """
    if grid.get("runtimes"):
        return grid
    here = [name for name in available_names() if clock_of(name) != "simulated"]
    return {**grid, "runtimes": here if asked is None else list(grid_runtimes(asked))}


def with_devices(grid: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """The grid that has its runtimes, and where it has replicas one more: of each runtime that has
    several numbered devices here, a session on all of them and one on the first."""
    dealt: list[str] = []
    for name in grid["runtimes"] if grid.get("replicas") else ():
        known = runtime(name) if name in registry.names() else None  # a device or an @ has its own
        if known is None or SESSIONS not in known.options:
            continue
        numbers = [device.key for device in known.devices() if device.key.isdecimal()]
        if len(numbers) > 1:
            alone = [] if numbers[0] == known.default_device else [f"{name}:{numbers[0]}"]
            dealt += [*alone, f"{name}:{'+'.join(numbers)}"]
    if not dealt:
        return (grid,)
    kept = {key: value for key, value in grid.items() if key != "replicas"}
    return grid, {**kept, "runtimes": dealt, "scenarios": [SHARED_WORK]}
