"""The keyword arguments of the programming interface, and the plan that they amount to.

The names are the keys of plan files. A value is what a plan file has there, one value in place of
a list of one, or the words of the command line: `"1,8"`, `"90s"`, `"p50=1%"`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from app.cases.errors import PlanError, suggestion
from app.cases.setting import Setting
from app.cli.measuring import files_of, is_plan, is_suite
from app.plan.configuration import configurations
from app.plan.exclusions import reject_without_effect
from app.plan.options import Layers, check_values, plan_data, with_all_runtimes
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_plan, load_suite
from app.plan.runtime_selection import with_default_runtimes
from app.plan.settings.table import accepted_by, kind_of, plain_kind
from app.plan.settings_page import ARGUMENTS
from app.run_folder.manifest import MANIFEST
from app.sweep.resumption import resumable_manifest


def plan_of(
    command: str, models: Sequence[str], settings: Mapping[str, Any], question: Mapping[str, Any]
) -> tuple[Plan, Layers]:
    """The plan of models, or of the one suite, plan file or run folder that they name, with these
    settings in front of it and of configuration files, and what gave it its values; PlanError for
    what no plan can have. `question` has those of `ARGUMENTS` that the command itself sets."""
    rows = {row.name: row for row in accepted_by(command) if row.scope != "command"}
    grid: dict[str, Any] = {}
    whole: dict[str, Any] = {}
    for name in settings:
        if name not in rows or name in ARGUMENTS:
            known_keys = [key for key in rows if key not in ARGUMENTS]
            remedy = suggestion(name, known_keys, f"help(graphlap.{command}) lists them")
            raise PlanError(f"graphlap.{command} has no setting {name!r}", remedy)
    for name, value in {**settings, **question}.items():
        row = rows[name]
        if value is None and name in question:
            raise PlanError(f"graphlap.{command} has nothing to search for (got None)", row.help)
        if value is None:
            continue
        part = grid if row.scope == "sweep" else whole
        key = row.extends or row.key
        read = _value(row, value)
        part[key] = [*part.get(key, ()), *read] if row.extends else read
    model_settings, origin = _model_settings(models)
    if not model_settings:
        grid["models"] = [file for word in models for file in files_of(word)]
    accepted_keys = frozenset(row.key for row in accepted_by(command))
    if command == "check":
        model_settings = check_values(model_settings) if model_settings else model_settings
    layers = Layers(
        with_all_runtimes(grid),
        whole,
        model_settings,
        origin,
        [file.restricted_to(accepted_keys) for file in configurations(None)],
    )
    plan = parse_plan(plan_data(layers, None), f"graphlap.{command}")
    reject_without_effect(plan, {*grid, *whole})
    is_whole = model_settings or plan.check
    return (plan if is_whole else with_default_runtimes(plan)), layers


def _model_settings(models: Sequence[str]) -> tuple[dict[str, Any], str]:
    """The values of the whole plan that the only word names; empty for models."""
    word = models[0]
    if not (is_plan(word) or is_suite(word)):
        return {}, ""
    if len(models) > 1:
        raise PlanError(f"{word} is a whole plan", "Name it alone, or name models")
    if (Path(word) / MANIFEST).is_file():
        plan = resumable_manifest(Path(word)).requested_plan
    else:
        plan = load_plan(Path(word)) if is_plan(word) else load_suite(word)
    return plan.model_dump(exclude_unset=True), word


def _value(row: Setting, value: Any) -> Any:
    """A value of a plan: words are read as the command line's, and one value is a list of one."""
    if isinstance(value, Path):
        value = str(value)
    if isinstance(value, str) and row.form.action != "store_true":
        return row.form.read([value] if row.form.action == "append" else value, row.name)
    kind = kind_of(row)
    if get_origin(kind) is tuple:
        return list(value) if isinstance(value, Iterable) else [value]
    if isinstance(value, Mapping):
        values = plain_kind(get_args(kind)[1]) if get_origin(kind) is dict else None
        several = get_origin(values) is tuple
        return {name: _part(part, several) for name, part in value.items()}
    return value


def _part(value: Any, several: bool) -> Any:
    if isinstance(value, Path):
        value = str(value)
    return [value] if several and isinstance(value, bool | int | float | str) else value
