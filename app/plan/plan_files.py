"""Plans in TOML: a file of the user's own, and the suites that ship."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from pathlib import Path

from app.cases.errors import PlanError, suggestion
from app.plan.plan import Plan, parse_plan
from exporters import own
from exporters.toml_file import read_toml

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
    return parse_plan({"name": name_from(path.stem), **data}, f"the plan {path}")


def name_from(text: str) -> str:
    """A valid name of a plan, as near as possible to the text: `my-plan` of `my plan`."""
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _NO_NAME.sub("-", ascii_text).strip("._-") or "plan"


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
