"""Validation of cases before a run: combinations and placements that can't be measured."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Protocol

import psutil

from app.cases.case import Case
from app.cases.errors import PlanError
from app.cases.scenario import NO_BATCHER, Condition, Scenario, examples
from app.cases.user_files import NO_USER_FILES
from app.machine.installed_runtimes import clock_of
from app.machine.placement import as_list, cores_online, usable_cores
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from exporters.size import size_text
from runtimes.options import SESSIONS

_LANE_OPTIONS = (SESSIONS.name, "streams")
"""Options that make several lanes."""


def with_batcher(plan: Plan, sweep: Sweep, batch_axes: Mapping[str, str | None]) -> Sweep:
    """The grid with batch 1 where it has a batcher; PlanError for what goes with none.

    `batch_axes` are those that the models leave open, None of a model that has none. A search for
    a rate begins without a batcher, and adds each of them to its rates.
    """
    batchers = [word for word in sweep.batcher if word != NO_BATCHER]
    if not batchers:
        return sweep
    batcher_text = f"--batcher {batchers[0]}"
    if not plan.slo:
        _reject_arrivals(sweep, batcher_text)
    _reject_options(sweep, batcher_text)
    fixed_model = next((model for model, axis in batch_axes.items() if axis is None), None)
    if fixed_model is not None:
        raise PlanError(
            f"{fixed_model} has no open batch axis, so {batcher_text} can't send its "
            "requests together",
            "name models whose batch is open, or remove --batcher",
        )
    sizes = {size for axis in batch_axes.values() for size in _batch_sizes(sweep, axis)} - {1}
    if sizes:
        raise PlanError(
            f"{batcher_text} collects requests of one input each, and the batch is {max(sizes)}",
            "remove --batch, or make it 1",
        )
    no_batcher = {"batcher": (NO_BATCHER,)} if plan.slo else {}
    return sweep.model_copy(update={"batch_size": (1,), **no_batcher})


def _batch_sizes(sweep: Sweep, axis: str | None) -> tuple[int, ...]:
    return (*sweep.batch_size, *sweep.axes.get(axis or "", ()))


def _reject_arrivals(sweep: Sweep, batcher_text: str) -> None:
    for text in sweep.scenarios:
        if not Scenario.parse(text).is_open_loop:
            raise PlanError(
                f"{batcher_text} needs requests that arrive by themselves, and {text} "
                "waits for answers",
                f"use --scenario {examples(open_loop=True)}",
            )


def _reject_options(sweep: Sweep, batcher_text: str) -> None:
    for key, values in sweep.options.items():
        name = key.partition(".")[2]
        if name in _LANE_OPTIONS and any(str(value) != "1" for value in values):
            raise PlanError(
                f"{batcher_text} has one server, and {key} makes several", f"remove {key}"
            )


COLD_SHARE = 0.25
"""A buffer that pollutes caches may take so much of this machine's memory."""
_SERIAL_SCENARIOS = ("closed_loop", "paced")
_GAP_REASONS = {
    "cold": "takes time between two runs",
    "cold-l2": "takes time between two runs",
    "shapes": "takes another shape between two runs, one at a time",
}


def reject_impossible(cases: Iterable[Case]) -> None:
    """PlanError for a condition that no case can be measured under."""
    maximum_bytes = int(psutil.virtual_memory().total * COLD_SHARE)
    for case in cases:
        condition, kind = case.condition, case.scenario.kind
        if condition.kind == "none":
            continue
        if condition.kind in _GAP_REASONS and kind not in _SERIAL_SCENARIOS:
            raise PlanError(
                f"{condition} {_GAP_REASONS[condition.kind]}, and {kind} has no pauses",
                f"use --scenario {' or '.join(_SERIAL_SCENARIOS)}",
            )
        if (
            condition.kind == "with"
            and replace(case.given, custom_ops=(), digests={}) != NO_USER_FILES
        ):
            raise PlanError(
                f"{condition} runs a model of the catalogue as it is, and the files or nodes "
                "apply to all models",
                "remove your files and nodes, or --condition",
            )
        if condition.bytes > maximum_bytes:
            raise PlanError(
                f"{condition} is more than a quarter of this machine's memory",
                f"use at most {size_text(maximum_bytes // 10**6 * 10**6)}",
            )


class Subject(Protocol):
    """A model that a plan names, with the sizes of its axes; None for one that nobody gave, and
    `assumed` for those with a size that was assumed."""

    @property
    def axes(self) -> Mapping[str, int | None]: ...

    @property
    def assumed(self) -> Collection[str]: ...

    @property
    def readable(self) -> bool: ...


def reject_unfit_neighbours(plan: Plan, subjects_of: Callable[[str], Iterable[Subject]]) -> None:
    """PlanError for a neighbour that is not one model, or whose sizes nobody knows."""
    words = dict.fromkeys(word for sweep in plan.sweeps for word in sweep.conditions)
    for name in filter(None, (Condition.parse(word).model for word in words)):
        first, *rest = subjects_of(name)
        if rest or not first.readable or first.assumed or None in first.axes.values():
            raise PlanError(
                f"with:{name} names no single model whose sizes are all known",
                "name one of graphlap models, or an .onnx file with fixed sizes",
            )


MINIMUM_REQUESTS = 10
"""A round has to have so many: the first do not count, and a median takes six."""


def reject_too_rare(plan: Plan, cases: Iterable[Case]) -> None:
    """PlanError for an open loop that brings too few requests; a simulated one has its own time."""
    maximum_s = plan.lengths.limits.max_s
    for case in cases:
        scenario = case.scenario
        if not scenario.is_open_loop or clock_of(case.runtime) == "simulated":
            continue
        requests = scenario.arrivals_hz * maximum_s
        if requests < MINIMUM_REQUESTS:
            raise PlanError(
                f"{scenario} brings {requests:.3g} requests in the {maximum_s:g} s that a "
                "round lasts "
                f"at most, and it takes {MINIMUM_REQUESTS}",
                f"use at least {MINIMUM_REQUESTS / maximum_s:.3g}/s, or a longer --preset",
            )


def reject_misplaced(plan: Plan) -> None:
    """PlanError for cores that are not there or not allowed, or a priority that could hang all.

    A real-time loop that spins gives its core to nobody, so one core is left to everybody else.
    """
    cores = set(plan.chosen_cores)
    if cores and not hasattr(os, "sched_setaffinity"):
        raise PlanError("this system keeps no process to cores", "remove --cores")
    usable, online = usable_cores(), cores_online()
    if cores - online:
        raise PlanError(
            f"core {as_list(cores - online)} is not there",
            f"choose among {as_list(usable)}",
        )
    if cores - usable:
        raise PlanError(
            f"core {as_list(cores - usable)} is not allowed to this process (taskset, a cpuset)",
            f"choose among {as_list(usable)}, or allow it",
        )
    if plan.page_cache == "dropped" and not hasattr(os, "posix_fadvise"):
        raise PlanError(
            "this system drops no single file from its page cache", "remove --page-cache"
        )
    if plan.realtime is None:
        return
    if not hasattr(os, "sched_setscheduler"):
        raise PlanError("this system has no SCHED_FIFO", "remove --realtime")
    if not cores:
        raise PlanError(
            "--realtime could take every core, and hang the machine",
            "give --cores, and leave at least one core to everything else",
        )
    if cores == usable:
        raise PlanError(
            f"--realtime on all of the cores ({as_list(usable)}) could hang the machine",
            "leave at least one out of --cores",
        )
