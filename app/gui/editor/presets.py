"""Plans to begin with: suites and studies that ship, a first measurement, the user's own."""

from __future__ import annotations

from app.cases.errors import PlanError
from app.gui.look.preferences import Preferences
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_suite, suite_names
from app.plan.settings.sweep import Sweep
from app.plan.studies import shipped_plan, study_names
from exporters.file_access import toml_values

FIRST = Plan(
    name="first-look",
    sweeps=(Sweep(models=("cnn_tiny", "lstm_tiny"), runtimes=("ort-cpu",)),),
)
"""Two small models on the runtime that every installation has: a result in seconds."""


def preset_names(preferences: Preferences) -> dict[str, tuple[str, ...]]:
    """Heading -> names of the presets under it."""
    return {
        "Suites": suite_names(),
        "Studies": study_names(),
        "My presets": tuple(sorted(preferences.presets())),
    }


def load_preset(heading: str, name: str, preferences: Preferences) -> Plan:
    """The draft of a preset; PlanError if a kept one is of another version's words."""
    if heading == "Suites":
        return load_suite(name)
    if heading == "Studies":
        return shipped_plan(f"study-{name}")
    origin = f"the preset {name}"
    try:
        data = toml_values(preferences.presets()[name])
    except ValueError as error:
        raise PlanError(f"{origin} can't be read ({error})", "save it again") from None
    return parse_plan(data, origin)
