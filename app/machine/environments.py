"""Other environments of this machine: what an interpreter is, and which runtimes it has.

Each is asked once per process, by children of its own interpreter; this one imports no engine.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from app.cases.errors import PlanError
from exporters import own
from exporters.regular import user_path
from runtimes import registry
from runtimes.base import Availability, Available, Device, Unavailable
from runtimes.environment import remedy_in

OLDEST_PYTHON = (3, 11)
NEEDED = ("numpy",)
"""What a measuring process imports beside its engine."""
TIME_LIMIT_S = 60.0
_ASK = """
import platform, sys
sys.path = [folder for folder in sys.path if folder]
found = [platform.python_implementation(), "%d.%d.%d" % sys.version_info[:3]]
if sys.version_info[0] > 2:
    from importlib.util import find_spec
    found += [name for name in sys.argv[1:] if find_spec(name) is None]
print(" ".join(found))
"""
"""Said to what may be any program: every release of Python understands it."""


@dataclass(frozen=True, slots=True)
class There:
    """One runtime in an environment; `checks` say by a device whether cases can be checked."""

    availability: Availability
    devices: tuple[Device, ...] = ()
    checks: Mapping[str, Availability] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Environment:
    """An interpreter, its release, and the runtimes that its packages make, by their names."""

    python: str
    version: str
    runtimes: Mapping[str, There]


def interpreter(text: str) -> str:
    """The absolute path of a program; a link to it is not followed, since it is what makes a
    virtual environment."""
    found = shutil.which(text) if os.sep not in text else None
    return found or str(Path(os.path.abspath(user_path(text))))  # noqa: PTH100


@cache
def asked(name: str, python: str) -> Environment:
    """What the interpreter at this path has; PlanError, which calls it `name`, if no case can be
    measured in it."""
    version = _version(name, python)
    names = [runtime for runtime in registry.names() if not registry.load(runtime).has_releases]
    command = own.command("runtimes.inventory", *names, python=python)
    answer, said = _answer(name, python, command)
    try:
        told: dict[str, dict[str, Any]] = json.loads(answer)
    except ValueError:
        last = said.strip().splitlines()[-1:] or ["it gave no answer"]
        raise PlanError(
            f"the environment {name!r} can't list its runtimes ({last[0]})",
            f"repair the packages of {python}",
        ) from None
    return Environment(python, version, {one: _there(python, of) for one, of in told.items()})


def _version(name: str, python: str) -> str:
    """The release of the interpreter; PlanError for what is none that a worker can run in."""
    answer, _ = _answer(name, python, (python, "-c", _ASK, *NEEDED))
    found = re.fullmatch(r"(\w+) ((\d+)\.(\d+)\.\d+)((?: \w+)*)", answer.strip())
    if found is None:
        raise PlanError(
            f"the environment {name!r}: {python} is no Python interpreter",
            "give the path of its python",
        )
    implementation, version, major, minor, missing = found.groups()
    oldest = ".".join(map(str, OLDEST_PYTHON))
    if implementation != "CPython" or (int(major), int(minor)) < OLDEST_PYTHON:
        raise PlanError(
            f"the environment {name!r} is {implementation} {version}",
            f"give an interpreter of CPython {oldest} or later",
        )
    if missing:
        raise PlanError(
            f"the environment {name!r} lacks {missing.strip()}, which a measuring process needs",
            f"{python} -m pip install {missing.strip()}",
        )
    return version


def run_to_end(command: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    """A program of an environment that answers and ends; OSError if it can't be started,
    TimeoutExpired after `TIME_LIMIT_S`."""
    return subprocess.run(
        command,
        env=own.child_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )


def _answer(name: str, python: str, command: Sequence[str]) -> tuple[str, str]:
    """What a program writes to its standard output and to its standard error."""
    try:
        done = run_to_end(command)
    except OSError as error:
        inside = Path(python, "bin", "python")
        raise PlanError(
            f"the environment {name!r} has no interpreter at {python} ({error.strerror})",
            f"give {inside}" if inside.exists() else "give the path of its python",
        ) from None
    except subprocess.TimeoutExpired:
        raise PlanError(
            f"the environment {name!r} gave no answer within {TIME_LIMIT_S:g} s",
            f"see what {python} does when it starts",
        ) from None
    return done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def _there(python: str, told: Mapping[str, Any]) -> There:
    return There(
        _state(python, told),
        tuple(Device(**one) for one in told.get("devices", ())),
        {key: _state(python, state) for key, state in told.get("checks", {}).items()},
    )


def _state(python: str, told: Mapping[str, Any]) -> Availability:
    if "reason" in told:
        return Unavailable(told["reason"], remedy_in(python, told["remedy"]))
    return Available(told["version"])
