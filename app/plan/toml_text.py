"""A plan as TOML text that `load_plan` reads back to the same plan; defaults are left out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from app.cases.errors import PlanError
from app.plan.plan import Plan
from app.plan.settings.table import names_of_keys


def plan_toml(plan: Plan) -> str:
    """One `[[sweeps]]` table for each grid, tables within it for axes and options."""
    data = plan.model_dump(mode="json", exclude_defaults=True)
    sweeps = data.pop("sweeps")
    lines = [f"{key} = {toml_value(value)}" for key, value in _named({"name": plan.name, **data})]
    for sweep in (dict(_named(sweep)) for sweep in sweeps):
        tables = {key: value for key, value in sweep.items() if isinstance(value, dict)}
        lines += ["", "[[sweeps]]"]
        lines += [f"{k} = {toml_value(v)}" for k, v in sweep.items() if k not in tables]
        for name, table in tables.items():
            lines += ["", f"[sweeps.{name}]", *_pairs(table)]
    return "\n".join(lines) + "\n"


def _named(part: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
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
