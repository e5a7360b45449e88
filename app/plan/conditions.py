"""Conditions that a plan combines with what they can't hold beside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Protocol

import psutil

from app.cases.case import Case
from app.cases.condition import Condition
from app.cases.errors import PlanError
from app.cases.given import NOTHING
from app.plan.plan import Plan
from exporters.size import size_text

COLD_SHARE = 0.25
"""A buffer that pollutes caches may take so much of this machine's memory."""
_BETWEEN_RUNS = ("closed_loop", "paced")
_WHY_BETWEEN = {
    "cold": "takes time between two runs",
    "shapes": "takes another shape between two runs, one at a time",
}


def refuse_impossible(cases: Iterable[Case]) -> None:
    """PlanError for a condition that no case can be measured under."""
    most = int(psutil.virtual_memory().total * COLD_SHARE)
    for case in cases:
        condition, kind = case.condition, case.scenario.kind
        if condition.kind == "none":
            continue
        if condition.kind in _WHY_BETWEEN and kind not in _BETWEEN_RUNS:
            raise PlanError(
                f"{condition} {_WHY_BETWEEN[condition.kind]}, and {kind} has no pauses",
                f"use --scenario {' or '.join(_BETWEEN_RUNS)}",
            )
        if condition.kind == "with" and replace(case.given, custom_ops=(), digests={}) != NOTHING:
            raise PlanError(
                f"{condition} runs a model of the catalogue as it is, and the files or nodes "
                "apply to all models",
                "remove your files and nodes, or --condition",
            )
        if condition.bytes > most:
            raise PlanError(
                f"{condition} is more than a quarter of this machine's memory",
                f"use at most {size_text(most // 10**6 * 10**6)}",
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


def refuse_unfit_neighbours(plan: Plan, subjects_of: Callable[[str], Iterable[Subject]]) -> None:
    """PlanError for a neighbour that is not one model, or whose sizes nobody knows."""
    words = dict.fromkeys(word for sweep in plan.sweeps for word in sweep.conditions)
    for name in filter(None, (Condition.parse(word).model for word in words)):
        first, *more = subjects_of(name)
        if more or not first.readable or first.assumed or None in first.axes.values():
            raise PlanError(
                f"with:{name} names no single model whose sizes are all known",
                "name one of graphlap models, or an .onnx file with fixed sizes",
            )
