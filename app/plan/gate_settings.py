"""The settings that can change what a gate finds: value and origin, and who may set them."""

from __future__ import annotations

from app.cases.errors import PlanError
from app.plan.configuration import user_file
from app.plan.options import Layers, origin_of
from app.plan.plan import Plan
from app.plan.plan_files import toml_value
from app.plan.settings.table import by_key

GATE_KEYS = (
    *("band", "detect", "judge", "percentiles", "checked", "tolerance", "baseline"),
    *("profile", "rounds", "precise", "sequential", "budget_s"),
)
GateSetting = tuple[str, str, str]
"""Its name, its value as a plan file has it, and its origin."""


def gate_settings(plan: Plan, layers: Layers) -> tuple[GateSetting, ...]:
    """Every one of them, also those that are at their default."""
    values = plan.model_dump(mode="json", include=set(GATE_KEYS))
    return tuple(
        (
            by_key()[key].name,
            "none" if values[key] is None else toml_value(values[key]),
            origin_of(by_key()[key], layers),
        )
        for key in GATE_KEYS
    )


def reject_project_settings(layers: Layers) -> None:
    """PlanError where a project's file gives one of them: the code that is measured could come with
    a gate that lets it pass."""
    for file in layers.files:
        keys = [
            k for k in GATE_KEYS if k in file.plan and origin_of(by_key()[k], layers) == file.origin
        ]
        if file.is_project and keys:
            names = ", ".join(by_key()[key].name for key in keys)
            flags = ", ".join(by_key()[key].flag for key in keys)
            raise PlanError(
                f"{file.origin.removeprefix('project ')}: {names} can change what --fail-on finds, "
                "and a project's file sets no gate by itself",
                f"Give --trust-project, or {flags}, or put it into {user_file()}",
            )
