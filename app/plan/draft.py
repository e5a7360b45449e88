"""The editor's state: a plan that may still lack something, as frozen values.

A plan is always valid and a draft need not be, so that a form can be empty. Undo is keeping
the drafts that were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from app.plan.plan import Plan, Sweep, parse_plan
from exporters.types import Precision
from runtimes.options import OptionValue


@dataclass(frozen=True, slots=True)
class Grid:
    """One grid of a draft, field by field what `app.plan.plan.Sweep` has.

    `others` are the fields that no form shows, kept as they came.
    """

    models: tuple[str, ...] = ()
    runtimes: tuple[str, ...] = ()
    precisions: tuple[Precision, ...] = ("fp32",)
    batch_size: tuple[int, ...] = ()
    sequence_length: tuple[int, ...] = ()
    axes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    threads: tuple[int, ...] = (1,)
    options: Mapping[str, tuple[OptionValue, ...]] = field(default_factory=dict)
    scenarios: tuple[str, ...] = ("closed_loop",)
    wait_policy: str = "spin"
    others: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Draft:
    """A name, a profile and at least one grid; `others` as in `Grid`."""

    name: str = "sweep"
    profile: str = "quick"
    rounds: int | None = None
    seed: int = 0
    time_limit_s: float | None = None
    profile_ops: bool = False
    largest_batch: bool = False
    memory_limit: str = ""
    grids: tuple[Grid, ...] = (Grid(),)
    others: Mapping[str, Any] = field(default_factory=dict)

    def with_grid(self, index: int, grid: Grid) -> Draft:
        """This draft with one grid replaced."""
        grids = (*self.grids[:index], grid, *self.grids[index + 1 :])
        return replace(self, grids=grids)

    def to_plan(self) -> Plan:
        """The validated plan; PlanError says what is missing or wrong."""
        data = _plain(self)
        data["sweeps"] = [_plain(grid) for grid in data.pop("grids")]
        return parse_plan({key: value for key, value in data.items() if value is not None}, "plan")


def draft_of(plan: Plan) -> Draft:
    """The draft that shows a plan."""
    values, others = _split(plan, Draft)
    grids = tuple(_grid_of(sweep) for sweep in others.pop("sweeps"))
    return Draft(**values, grids=grids, others=others)


def _grid_of(sweep: Sweep) -> Grid:
    values, others = _split(sweep, Grid)
    return Grid(**values, others=others)


def _plain(part: Draft | Grid) -> dict[str, Any]:
    values = {one.name: getattr(part, one.name) for one in fields(part)}
    return {**values.pop("others"), **values}


def _split(part: Plan | Sweep, kind: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields that `kind` has too, and those that differ from their default of the rest."""
    known = {one.name for one in fields(kind)}
    model = type(part).model_fields
    values = {name: getattr(part, name) for name in model}
    others = {
        name: value
        for name, value in values.items()
        if name not in known and value != model[name].default
    }
    return {name: value for name, value in values.items() if name in known}, others
