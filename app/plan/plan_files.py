"""Plans in TOML: a file of the user's own, and the suites that ship."""

from __future__ import annotations

import tomllib
from pathlib import Path

from app.cases.errors import PlanError, suggestion
from app.plan.plan import Plan, parse_plan
from exporters import own


def load_plan(path: Path) -> Plan:
    """A plan file; PlanError if it cannot be read, parsed or understood."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise PlanError(f"the plan {path} can't be read ({reason})", "give a TOML file") from None
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise PlanError(f"the plan {path} is nested too deeply", "mend it") from None
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"the plan {path} is no valid TOML ({error})", "mend that line") from None
    return parse_plan({"name": path.stem, **data}, f"the plan {path}")


def suite_names() -> tuple[str, ...]:
    """The suites that ship, in alphabetical order."""
    found = own.asset("suites").iterdir()
    return tuple(sorted(f.name.removesuffix(".toml") for f in found))


def load_suite(name: str) -> Plan:
    """The plan of a suite; PlanError suggests the nearest name."""
    known = suite_names()
    if name not in known:
        raise PlanError(f"there is no suite called {name!r}", suggestion(name, known))
    text = own.asset("suites", f"{name}.toml").read_text("utf-8")
    return parse_plan(tomllib.loads(text), f"the suite {name}")
