"""Plans in TOML: a user's own files and the suites that ship, read and written."""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from app.cases.errors import PlanError, suggestion
from app.plan.plan import Plan, plan_of_file
from app.plan.settings.table import names_of_keys
from exporters import install_layout
from exporters.file_access import read_toml


def plan_toml(plan: Plan) -> str:
    """One `[[sweeps]]` table for each grid, tables within it for axes and options."""
    data = plan.model_dump(mode="json", exclude_defaults=True)
    sweeps = data.pop("sweeps")
    lines = [
        f"{key} = {toml_value(value)}"
        for key, value in _with_file_names({"name": plan.name, **data})
    ]
    for sweep in (dict(_with_file_names(sweep)) for sweep in sweeps):
        tables = {key: value for key, value in sweep.items() if isinstance(value, dict)}
        lines += ["", "[[sweeps]]"]
        lines += [f"{k} = {toml_value(v)}" for k, v in sweep.items() if k not in tables]
        for name, table in tables.items():
            lines += ["", f"[sweeps.{name}]", *_pairs(table)]
    return "\n".join(lines) + "\n"


def _with_file_names(part: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """The values by the names that files have for their keys."""
    return zip(names_of_keys(part), part.values(), strict=True)


def _pairs(table: Mapping[str, Any]) -> list[str]:
    return [f"{_string(key)} = {toml_value(value)}" for key, value in table.items()]


def toml_value(value: Any) -> str:
    """A value as TOML writes it on one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(_pairs(value))}}}"
    return _string(value) if isinstance(value, str) else json.dumps(value)


def _string(text: str) -> str:
    """A basic string: JSON's escapes are TOML's, but for DEL, which TOML wants escaped.

    PlanError for a file's name that is no text: TOML has no form for it.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise PlanError(
            f"the name {text!a} is no UTF-8 text, and a plan file can hold nothing else",
            "rename the file, or name it on the command line",
        ) from None
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def load_plan(path: Path) -> Plan:
    """A plan file; PlanError if it cannot be read, parsed or understood."""
    try:
        data = read_toml(path)
    except OSError as error:
        raise PlanError(
            f"the plan {path} can't be read ({error.strerror})", "give a TOML file"
        ) from None
    except ValueError as error:
        raise PlanError(f"the plan {path} can't be read ({error})", "correct the file") from None
    return plan_of_file({"name": name_from(path.stem), **data}, f"the plan {path}")


def name_from(text: str) -> str:
    """A valid name of a plan, as near as possible to the text: `my-plan` of `my plan`."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _NO_NAME.sub("-", ascii_text).strip("._-") or "plan"


def suite_names() -> tuple[str, ...]:
    """The suites that ship, in alphabetical order."""
    files = install_layout.asset("suites").iterdir()
    return tuple(sorted(f.name.removesuffix(".toml") for f in files))


def load_suite(name: str) -> Plan:
    """The plan of a suite; PlanError suggests the nearest name."""
    names = suite_names()
    if name not in names:
        raise PlanError(f"there is no suite called {name!r}", suggestion(name, names))
    text = install_layout.asset("suites", f"{name}.toml").read_text("utf-8")
    return plan_of_file(tomllib.loads(text), f"the suite {name}")
