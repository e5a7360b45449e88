"""The studies that ship, by name: each is a plan, made of suites and of grids of its own.

A study of several plans is a folder of them: its parts are called `STUDY/PART`. Settings on the
command line are laid over a study's grids unless its file fixes them, with a reason.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from importlib.resources.abc import Traversable
from typing import Any

from pydantic import Field

from app.cases.case import Case
from app.cases.errors import PlanError, suggestion
from app.machine.installed_runtimes import available_names, clock_of, grid_runtimes, runtime
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_suite
from app.plan.settings.sweep import SHARED_WORK, Sweep, with_sessions
from app.plan.settings.table import accepted_by, by_key, with_keys
from exporters import install_layout
from exporters.model_names import is_null, original_of
from runtimes import registry
from runtimes.options import SESSIONS
from runtimes.registry import parse_spec

_FOLDER, _ENDING = "studies", ".toml"
_STUDY = "study-"
CHANGEABLE = tuple(r for r in accepted_by("study") if r.scope == "sweep" and r.key != "models")
"""The settings of a study's grids that the command line may change."""
_KEYS = frozenset(row.key for row in CHANGEABLE)


class StudyPlan(Plan, frozen=True):
    """`fixed` are the keys of `CHANGED` that can't be, each with what follows "the study"."""

    fixed: dict[str, str] = Field(default_factory=dict, exclude=True)


def study_names() -> tuple[str, ...]:
    """The plans of studies that ship, in alphabetical order."""
    return tuple(sorted(_study_names_in(install_layout.asset(_FOLDER), "")))


def _study_names_in(folder: Traversable, prefix: str) -> Iterator[str]:
    for file in folder.iterdir():
        if file.is_dir():
            yield from _study_names_in(file, f"{prefix}{file.name}/")
        elif file.name.endswith(_ENDING):
            yield prefix + file.name.removesuffix(_ENDING)


def load_study(name: str) -> StudyPlan:
    """The plan of a study, its grids in the order of its `suites` and then its own.

    Keys of a grid beside the `suites` are laid over the suites' grids. A grid that names no
    runtimes gets them in `adjust_grid`. PlanError suggests the nearest name.
    """
    names = study_names()
    if name not in names:
        raise PlanError(f"there is no study called {name!r}", suggestion(name, names))
    data = with_keys(
        tomllib.loads(
            install_layout.asset(_FOLDER, *f"{name}{_ENDING}".split("/")).read_text("utf-8")
        )
    )
    overrides = {key: data.pop(key) for key in Sweep.model_fields if key in data}
    grids = [
        {**grid, **overrides}
        for suite in data.pop("suites", ())
        for grid in load_suite(suite).model_dump(exclude_unset=True)["sweeps"]
    ]
    data["sweeps"] = [*grids, *data.get("sweeps", ())]
    fixed_settings = data.pop("fixed", {})
    plan = parse_plan({"name": f"study-{name.replace('/', '-')}", **data}, f"the study {name}")
    return StudyPlan(**plan.model_dump(exclude_unset=True), fixed=fixed_settings)


def shipped_plan(name: str) -> Plan:
    """The plan of a suite, or of a study by the name `study-NAME`, with this machine's runtimes."""
    if not name.startswith(_STUDY):
        return load_suite(name)
    plan = load_study(name.removeprefix(_STUDY))
    data = plan.model_dump(exclude_unset=True)
    grids = [part for grid in data["sweeps"] for part in with_devices(adjust_grid(grid, {}))]
    return parse_plan({**data, "sweeps": grids}, name)


def reject_fixed(name: str, keys: Collection[str]) -> None:
    """PlanError for the first of these keys of a grid that the study fixes."""
    for key, reason in load_study(name).fixed.items():
        if key in keys:
            flag = by_key()[key].flag
            raise PlanError(f"{flag}: the study {name} {reason}", f"Leave {flag} out")


def adjust_grid(grid: dict[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """A study's grid with what the command line asks for, by the keys of `CHANGED`.

    A grid of simulated cards is the document's own and stays. Without runtimes of its own or asked
    for it has this machine's with a real clock. Options of runtimes that it lost go with them.
    """
    if _is_simulated(grid):
        return grid
    new_values = {**grid, **{key: value for key, value in overrides.items() if key in _KEYS}}
    if not new_values.get("runtimes"):
        new_values["runtimes"] = [n for n in available_names() if clock_of(n) != "simulated"]
    new_values["runtimes"] = list(grid_runtimes(new_values["runtimes"]))
    names = {parse_spec(spec).name for spec in new_values["runtimes"]}
    options = new_values.pop("options", {})
    valid_options = {k: v for k, v in options.items() if k.partition(".")[0] in names}
    return {**new_values, "options": valid_options} if valid_options else new_values


def _is_simulated(grid: Mapping[str, Any]) -> bool:
    specs = grid.get("runtimes") or ()
    return bool(specs) and all(clock_of(spec) == "simulated" for spec in specs)


def is_part(case: Case, study: StudyPlan) -> bool:
    """Whether a study measures this case, of whichever run it is: not of another pacing or option,
    nor of another value of what the study fixes. What a search tries is known by its model."""
    if study.is_search:
        return any(case.model in grid.models for grid in study.sweeps)
    return any(_is_point(case, _spell_grid(grid, case), study.fixed) for grid in study.sweeps)


def is_twin_of_part(case: Case, study: StudyPlan) -> bool:
    """Whether it is the null twin of a case that the study measures."""
    return is_null(case.model) and is_part(replace(case, model=original_of(case.model)), study)


def _spell_grid(grid: Sweep, case: Case) -> Sweep:
    """The grid with its replicas as options of the case's runtime, where that has sessions."""
    name = parse_spec(case.runtime).name
    known = runtime(name).options if grid.replicas else ()
    return with_sessions(grid, [name], (1, *grid.replicas)) if SESSIONS in known else grid


def _is_point(case: Case, grid: Sweep, fixed_settings: Collection[str]) -> bool:
    """Keys that a study leaves open hold whatever was asked for, but in a grid of cards."""
    cards = _is_simulated({"runtimes": grid.runtimes})
    fixed_keys = _KEYS if cards else fixed_settings
    batches = grid.batch_size if "batch_size" in fixed_keys else ()
    sizes = {"batch": batches, "sequence": grid.sequence_length, **grid.axes}
    return (
        case.model in grid.models
        and ("runtimes" not in fixed_keys or not grid.runtimes or case.runtime in grid.runtimes)
        and ("precisions" not in fixed_keys or case.precision in grid.precisions)
        and ("threads" not in fixed_keys or case.threads in grid.threads)
        and str(case.scenario) in grid.scenarios
        and str(case.condition) in grid.conditions
        and case.batcher is None
        and all(s in allowed_sizes for n, s in case.axes.items() if (allowed_sizes := sizes.get(n)))
        and all(
            value in grid.options.get(f"{parse_spec(case.runtime).name}.{name}", ())
            for name, value in case.options.items()
        )
    )


def with_devices(grid: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """The grid that has its runtimes, and where it has replicas one more: of each runtime that has
    several numbered devices here, a session on all of them and one on the first."""
    multi_device: list[str] = []
    for name in grid["runtimes"] if grid.get("replicas") else ():
        # A device or an @ has its own.
        definition = runtime(name) if name in registry.names() else None
        if definition is None or SESSIONS not in definition.options:
            continue
        numbers = [device.key for device in definition.devices() if device.key.isdecimal()]
        if len(numbers) > 1:
            first_device = (
                [] if numbers[0] == definition.default_device else [f"{name}:{numbers[0]}"]
            )
            multi_device += [*first_device, f"{name}:{'+'.join(numbers)}"]
    if not multi_device:
        return (grid,)
    base = {key: value for key, value in grid.items() if key != "replicas"}
    return grid, {**base, "runtimes": multi_device, "scenarios": [SHARED_WORK]}
