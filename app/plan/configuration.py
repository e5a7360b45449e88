"""Configuration files: defaults of settings for a project and for a user.

A project's is `graphlap.toml`, or `[tool.graphlap]` in pyproject.toml, in the current folder or the
nearest one above it that has one. A user's is `config.toml` in the configuration folder. Their keys
are those of a plan and of its grids. A value of a command line counts before that of a plan, that
before the project's, that before the user's, that before the default. A resumed run has its own
plan and reads no configuration.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import platformdirs
from pydantic import ValidationError

from app.cases.errors import PlanError, current_folder, suggestion
from app.cases.setting import Setting
from app.plan.plan import Plan, in_words
from app.plan.settings.sweep import Sweep
from app.plan.settings.table import PLAN_SETTINGS, SWEEP_SETTINGS
from exporters.file_access import MOST_BYTES, read_file, read_toml

VARIABLE = "GRAPHLAP_CONFIG"
"""Names a file in place of the project's; `none` for no configuration at all, as in a test."""
NONE = "none"
PROJECT_FILES = ("graphlap.toml", "pyproject.toml")
USER_FILE = "config.toml"


@dataclass(frozen=True, slots=True)
class Configuration:
    """Where it was read, and its values for the plan and for each grid, by their keys. That of a
    project (`is_project`) was named by nobody, so somebody else may have written it."""

    origin: str
    plan: Mapping[str, Any]
    sweep: Mapping[str, Any]
    is_project: bool = False

    def restricted_to(self, keys: Collection[str]) -> Configuration:
        """The same with these keys alone."""
        plan, sweep = (
            {key: value for key, value in part.items() if key in keys}
            for part in (self.plan, self.sweep)
        )
        return replace(self, plan=plan, sweep=sweep)


def configurations(explicit_file: str | None = None) -> tuple[Configuration, ...]:
    """The project's and the user's, the one that counts first in front; PlanError for a file that
    can't be used. `named` is a file in place of the project's, which may run code: a user named it.
    """
    choice = explicit_file or os.environ.get(VARIABLE)
    if choice == NONE:
        return ()
    if choice:
        sources = [(Path(choice), "file", False)]
    else:
        sources = [(path, "project", True) for path in _project_file()]
    user = user_file()
    if user.is_file():
        sources.append((user, "user", False))
    return tuple(_read(path, kind, stranger) for path, kind, stranger in sources)


def user_file() -> Path:
    """The user's configuration; it need not be there."""
    return platformdirs.user_config_path("graphlap") / USER_FILE


def _project_file() -> Iterator[Path]:
    """The nearest one, from the current folder upwards."""
    start = current_folder()
    for folder in (start, *start.parents) if start is not None else ():
        paths = [folder / name for name in PROJECT_FILES]
        files = [path for path in paths if path.is_file() and _table(path) is not None]
        if len(files) > 1:
            raise PlanError(
                f"{folder} has graphlap.toml and [tool.graphlap] in pyproject.toml",
                "keep one of them",
            )
        if files:
            yield files[0]
            return


def _table(path: Path) -> dict[str, Any] | None:
    """The settings in a file; None for a pyproject.toml that has none or is not ours to judge, as
    one that can't be read and doesn't name us."""
    is_shared = path.name == "pyproject.toml"
    try:
        values = read_toml(path)
    except (OSError, ValueError) as error:
        if is_shared and not _may_have_table(path):
            return None
        remedy = (
            f"correct it, or set {VARIABLE}={NONE}" if is_shared else "correct it, or remove it"
        )
        raise PlanError(f"{path} can't be read ({error})", remedy) from None
    if not is_shared:
        return values
    tool = values.get("tool")
    table = tool.get("graphlap") if isinstance(tool, dict) else None
    return table if isinstance(table, dict) else None


def _may_have_table(path: Path) -> bool:
    try:
        return b"graphlap" in read_file(path, most_bytes=MOST_BYTES)
    except OSError:
        return False


def _read(path: Path, kind: str, is_untrusted: bool) -> Configuration:
    """`stranger`: somebody else may have written it, so it must not make the program run code."""
    names = {name: row for row in (*PLAN_SETTINGS, *SWEEP_SETTINGS) for name in (row.name, row.key)}
    parts: dict[str, dict[str, Any]] = {"plan": {}, "sweep": {}}
    for name, value in (_table(path) or {}).items():
        if name not in names:
            setting_names = dict.fromkeys(row.name for row in names.values())
            raise PlanError(
                f"{path}: the key {name!r} is not known", suggestion(name, setting_names)
            )
        row = names[name]
        if row.key in parts[row.scope]:
            raise PlanError(f"{path}: {row.name} and {row.key} are the same", "keep one of them")
        parts[row.scope][row.key] = value
    grid = {"models": ["any"], **parts["sweep"]}
    try:
        plan = Plan.model_validate({"sweeps": [grid], **parts["plan"]})
    except ValidationError as error:
        cause, remedy = in_words(error, Plan, Sweep)
        raise PlanError(f"{path}: {cause}", remedy) from None
    configuration = Configuration(
        f"{kind} {path}",
        {key: getattr(plan, key) for key in parts["plan"]},
        {key: getattr(plan.sweeps[0], key) for key in parts["sweep"]},
        is_untrusted,
    )
    if is_untrusted:
        _reject_code(path, configuration, names)
    return configuration


def _reject_code(path: Path, configuration: Configuration, rows: Mapping[str, Setting]) -> None:
    for key, value in {**configuration.plan, **configuration.sweep}.items():
        if rows[key].runs_code(value):
            raise PlanError(
                f"{path}: {rows[key].name} names code to run, and a project's file must not",
                f"use {rows[key].flag}, or put it into {user_file()}",
            )
