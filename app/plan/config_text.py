"""`--show-config`: the value of each setting of a plan, and which layer it is from."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from app.plan.options import Layers, kept_grids, layers_of, plan_from_options
from app.plan.plan import Plan
from app.plan.settings.setting import Setting
from app.plan.settings.table import PLAN_SETTINGS, SWEEP_SETTINGS
from app.plan.toml_text import toml_value


def config_text(options: argparse.Namespace) -> str:
    """A line for each setting, as a plan file has it, with its origin as a comment."""
    return "\n".join(_lines(plan_from_options(options), layers_of(options))) + "\n"


def _lines(plan: Plan, layers: Layers) -> Iterator[str]:
    whole = plan.model_dump(mode="json")
    for row in PLAN_SETTINGS:
        sources = {"command line": layers.whole, layers.origin: layers.named}
        files = {file.origin: file.plan for file in layers.files}
        yield _line(row, whole[row.key], {**sources, **files})
    grids = kept_grids(layers.named.get("sweeps", ()), layers.grid.get("models", ()))
    nothing: dict[str, Any] = {}
    for grid, named in zip_longest(whole["sweeps"], grids, fillvalue=nothing):
        yield "\n[[sweeps]]"
        for row in SWEEP_SETTINGS:
            sources = {"command line": layers.grid, layers.origin: named}
            files = {file.origin: file.sweep for file in layers.files}
            yield _line(row, grid[row.key], {**sources, **files})


def _line(row: Setting, value: Any, sources: Mapping[str, Mapping[str, Any]]) -> str:
    origin = next((name for name, values in sources.items() if row.key in values), "default")
    shown = "" if value is None else toml_value(value)
    return f"{row.name} = {shown}  # {origin}" if shown else f"# {row.name}: none  # {origin}"
