"""A plan -> its cases: names looked up, globs resolved, every axis given a size.

Torch-free. What the plan alone shows wrong is a `PlanError`; a model file that turns out
to be damaged is not: its case ends as a row that says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from app.cases.case import Case
from app.cases.dimensions import GRID
from app.cases.errors import PlanError, suggestion
from app.cases.scenario import Condition
from app.cases.user_files import NO_USER_FILES, UserFiles
from app.machine.installed_runtimes import (
    AVAILABLE,
    all_names,
    availability_of,
    available_names,
    check_availability_of,
    each_device_of,
    grid_runtimes,
    runtime,
    runtime_of,
)
from app.plan.axis_sizes import assumed_sizes, parts, points, reject_unknown_axes, with_sizes
from app.plan.exclusions import reject_exclusions
from app.plan.models import Outlines, ResolvedModel, plan_faults, reject_unusable, resolve_models
from app.plan.plan import Plan
from app.plan.reference_cases import null_case, reject_useless_baseline
from app.plan.runtime_options import first_choices, option_sets, reject_unknown_options
from app.plan.runtime_selection import environments_of
from app.plan.settings.sweep import Sweep, with_sessions
from app.plan.validation import (
    reject_impossible,
    reject_too_rare,
    reject_unfit_neighbours,
    with_batcher,
)
from exporters.file_access import user_path
from exporters.input_sets import input_sets
from exporters.model_names import is_null
from runtimes import registry
from runtimes.base import Available
from runtimes.errors import RuntimeFault
from runtimes.options import SESSIONS
from runtimes.registry import parse_spec, release_of
from runtimes.session.session_group import refuse_devices, refuse_uneven, uneven


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
    paced_scenarios = ({t for t in s.scenarios if t.startswith("paced")} for s in plan.sweeps)
    if max(map(len, paced_scenarios)) < MINIMUM_GAPS:
        raise PlanError(
            "--plot draws latency over pauses, and the plan has fewer than three",
            "add --idle-sweep 20us..1s, or remove --plot",
        )


_SLOWEST_FIRST = ("precision", "axes", "threads", "options")
"""In which order the cases of a grid follow each other; every other axis varies faster."""


def expand(plan: Plan, remote_runtimes: Sequence[str] = ()) -> tuple[Case, ...]:
    """The plan's cases in its order, each once; PlanError names what it can't resolve.

    `remote_runtimes` are those of other machines, where these measure.
    """
    reject_exclusions(plan)
    environments = environments_of(plan)
    if plan.accuracy:
        reject_unusable(plan.accuracy)
    user_files = _user_files_of(plan)
    with Outlines() as outlines:
        model_lists = [
            [s for text in sweep.models for s in resolve_models(text, user_files, outlines)]
            for sweep in plan.sweeps
        ]
        reject_unfit_neighbours(plan, lambda name: resolve_models(name, NO_USER_FILES, outlines))
    cases: dict[str, Case] = {}
    for sweep, models in zip(plan.sweeps, model_lists, strict=True):
        for case in _sweep_cases(plan, sweep, models, user_files, environments, remote_runtimes):
            cases.setdefault(case.case_id, case)
            if plan.null:
                twin = null_case(case)
                cases.setdefault(twin.case_id, twin)
    unique_cases = tuple(cases.values())
    _reject_if_nothing_runs(unique_cases)
    reject_impossible(unique_cases)
    reject_too_rare(plan, unique_cases)
    if plan.baseline:
        reject_useless_baseline(plan.baseline, [c for c in unique_cases if not is_null(c.model)])
    return unique_cases


def sizes_assumed(plan: Plan) -> dict[str, dict[str, int]]:
    """Model -> the axes of its cases that have a size only because it was assumed."""
    sizes: dict[str, dict[str, int]] = {}
    user_files = _user_files_of(plan)
    with Outlines() as outlines:
        for sweep in plan.sweeps:
            for text in sweep.models:
                for subject in resolve_models(text, user_files, outlines):
                    if new_sizes := assumed_sizes(sweep, subject):
                        sizes.setdefault(subject.model, {}).update(new_sizes)
    return sizes


def _sweep_cases(
    plan: Plan,
    sweep: Sweep,
    models: Sequence[ResolvedModel],
    user_files: UserFiles,
    environments: Mapping[str, str],
    remote_runtimes: Sequence[str],
) -> Iterator[Case]:
    if plan.largest_batch:
        sweep = _first_tries(sweep)
    sweep = first_choices(plan, sweep)
    remote_names = [name for name in remote_runtimes if name in all_names()]
    default_names = remote_names or available_names(plan.check)
    runtimes = list(grid_runtimes(sweep.runtimes, default_names))
    for text in sweep.runtimes:
        if text != AVAILABLE:
            _check_runtime(text, environments, plan)
    if not runtimes:
        raise PlanError(
            "no runtime is available on this machine",
            "pip install 'graphlap[cpu]', or see graphlap doctor",
        )
    reject_unknown_options(sweep, runtimes)
    for part in replica_grids(sweep, runtimes):
        yield from _replica_cases(plan, part, models, user_files)


def _replica_cases(
    plan: Plan, sweep: Sweep, models: Sequence[ResolvedModel], user_files: UserFiles
) -> Iterator[Case]:
    """The cases of a grid whose replicas are options of its runtimes, which it names."""
    runtimes = sweep.runtimes
    batch_axes = {model.model: model.batch for model in models if model.readable}
    sweep = with_batcher(plan, sweep, batch_axes)
    reject_unknown_axes(sweep, models)
    for part, sized_subjects, condition in parts(sweep, models):
        for subject in with_sizes(part, sized_subjects):
            yield from _grid(part, subject, runtimes, user_files, condition, waits=bool(plan.slo))


def _first_tries(sweep: Sweep) -> Sweep:
    """The grid from which a search begins: at batch 1 unless the plan says where."""
    if len(sweep.batch_size) > 1:
        raise PlanError(
            "a search for the largest batch begins at one batch size",
            "give --batch one value, or remove it",
        )
    return sweep.model_copy(update={"batch_size": sweep.batch_size or (1,)})


def _user_files_of(plan: Plan) -> UserFiles:
    """The plan's own files and nodes; PlanError for a file that can't be read."""
    with plan_faults():
        sets = [str(path) for text in plan.inputs for path in input_sets(user_path(text))]
    first, further_inputs = sets[:1], sets[1:]
    files = {"weights": plan.weights, "inputs": "".join(first), "calibration": plan.calibration}
    return UserFiles.of_paths(
        {name: path for name, path in files.items() if path},
        further_inputs,
        from_nodes=plan.from_nodes,
        to_nodes=plan.to_nodes,
        rotate_inputs=plan.rotate_inputs,
        input_range=plan.input_range,
        states=plan.states,
        custom_ops=plan.custom_ops,
    )


def _grid(
    sweep: Sweep,
    subject: ResolvedModel,
    runtimes: Sequence[str],
    user_files: UserFiles,
    condition: Condition,
    waits: bool,
) -> Iterator[Case]:
    """`condition` is that of all cases where it has shapes, and else the grid says which they are
    under; `waits` says that there will be pauses even where the scenario of the plan has none."""
    sizes = list(points(sweep, subject))
    files_by_precision = {precision: user_files.at(precision) for precision in sweep.precisions}
    for name in runtimes:
        values: dict[str, Sequence[Any]] = {
            "axes": sizes,
            "options": list(option_sets(sweep, name)),
            **{row.name: [row.parse(v) for v in getattr(sweep, row.key)] for row in GRID},
        }
        if condition.shapes:
            values["condition"] = [condition]
        order = [*_SLOWEST_FIRST, *(field for field in values if field not in _SLOWEST_FIRST)]
        for point in product(*(values[field] for field in order)):
            point_values = dict(zip(order, point, strict=True))
            yield Case(
                model=subject.model,
                runtime=name,
                suite=subject.suite,
                wait_policy=sweep.wait_policy
                if waits or point_values["scenario"].waits
                else "spin",
                given=files_by_precision[point_values["precision"]],
                **point_values,
            )


def _check_runtime(text: str, environments: Mapping[str, str], plan: Plan) -> None:
    """PlanError for a runtime or a device that there is not."""
    spec = parse_spec(text)
    name = spec.name
    if name not in registry.names():
        raise _unknown_runtime(name)
    if not plan.check:
        with plan_faults():
            for device in runtime(name).devices_in(spec.device):
                runtime(name).refuse_to_run(device)
    if plan.cluster:  # which devices there are, its hosts say
        return
    check_availability = check_availability_of if plan.check else availability_of
    if isinstance(check_availability(text, environments), Available):
        with plan_faults():
            refuse_devices(runtime_of(text, environments), spec.device, release_of(text))


def _unknown_runtime(name: str) -> PlanError:
    refusal = registry.refused().get(name)
    if refusal is not None:
        return PlanError(refusal.reason, refusal.remedy)
    return PlanError(f"there is no runtime called {name!r}", suggestion(name, registry.names()))


def _reject_if_nothing_runs(cases: Iterable[Case]) -> None:
    """A precision that none of the runtimes executes is a mistake, as are sessions that none can
    deal over its devices; what only some can't do is a row."""
    faults = []
    for case in cases:
        try:
            spec = parse_spec(case.runtime)
            runtime(spec.name).refuse_precision(case.precision)
            refuse_uneven(runtime(spec.name), spec.device, case.options)
        except RuntimeFault as fault:
            faults.append(fault)
        else:
            return
    with plan_faults():
        raise faults[0]
