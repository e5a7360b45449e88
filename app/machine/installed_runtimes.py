"""Runtimes of this machine and of other environments, found without importing an engine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from app.cases.errors import PlanError
from app.cases.round import RUNTIME
from exporters import install_layout
from exporters.cache import default_limit_bytes, default_root
from exporters.file_access import private_folder, user_path
from runtimes import registry
from runtimes.base import Availability, Available, Device, Runtime, Unavailable
from runtimes.execution import Clock
from runtimes.options import Option
from runtimes.registry import environment_of, remedy_in
from runtimes.session import session_group

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
    executable = shutil.which(text) if os.sep not in text else None
    return executable or str(Path(os.path.abspath(user_path(text))))  # noqa: PTH100


@cache
def asked(name: str, python: str) -> Environment:
    """What the interpreter at this path has; PlanError, which calls it `name`, if no case can be
    measured in it."""
    version = _version(name, python)
    names = [runtime for runtime in registry.names() if not registry.load(runtime).has_releases]
    command = install_layout.command("runtimes.inquiries", "inventory", *names, python=python)
    answer, errors = _answer(name, python, command)
    try:
        reports: dict[str, dict[str, Any]] = json.loads(answer)
    except ValueError:
        last = errors.strip().splitlines()[-1:] or ["it gave no answer"]
        raise PlanError(
            f"the environment {name!r} can't list its runtimes ({last[0]})",
            f"repair the packages of {python}",
        ) from None
    return Environment(
        python,
        version,
        {runtime_name: _parse_there(python, report) for runtime_name, report in reports.items()},
    )


def _version(name: str, python: str) -> str:
    """The release of the interpreter; PlanError for what is none that a worker can run in."""
    answer, _ = _answer(name, python, (python, "-c", _ASK, *NEEDED))
    match = re.fullmatch(r"(\w+) ((\d+)\.(\d+)\.\d+)((?: \w+)*)", answer.strip())
    if match is None:
        raise PlanError(
            f"the environment {name!r}: {python} is no Python interpreter",
            "give the path of its python",
        )
    implementation, version, major, minor, missing = match.groups()
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


def run_to_end(
    command: Sequence[str], time_limit_s: float = TIME_LIMIT_S
) -> subprocess.CompletedProcess[bytes]:
    """A program of an environment that answers and ends; OSError if it can't be started,
    TimeoutExpired after the limit."""
    return subprocess.run(
        command,
        env=install_layout.child_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=time_limit_s,
        check=False,
    )


def _answer(name: str, python: str, command: Sequence[str]) -> tuple[str, str]:
    """What a program writes to its standard output and to its standard error."""
    try:
        process = run_to_end(command)
    except OSError as error:
        inner_python = Path(python, "bin", "python")
        raise PlanError(
            f"the environment {name!r} has no interpreter at {python} ({error.strerror})",
            f"give {inner_python}" if inner_python.exists() else "give the path of its python",
        ) from None
    except subprocess.TimeoutExpired:
        raise PlanError(
            f"the environment {name!r} gave no answer within {TIME_LIMIT_S:g} s",
            f"see what {python} does when it starts",
        ) from None
    return process.stdout.decode("utf-8", "replace"), process.stderr.decode("utf-8", "replace")


def _parse_there(python: str, told: Mapping[str, Any]) -> There:
    return There(
        _state(python, told),
        tuple(Device(**one) for one in told.get("devices", ())),
        {key: _state(python, state) for key, state in told.get("checks", {}).items()},
    )


def _state(python: str, report: Mapping[str, Any]) -> Availability:
    if "reason" in report:
        return Unavailable(report["reason"], remedy_in(python, report["remedy"]))
    return Available(report["version"])


AVAILABLE = "available"
"""Stands in a grid's runtimes for every one that can be used on the machine that measures."""


@cache
def runtime(name: str) -> Runtime:
    """The one instance of a runtime that the parent asks; NotAvailable if there is none."""
    return registry.load(name)


@cache
def availability(name: str) -> Availability:
    """Whether the runtime called `name` can be used here; asked once per process."""
    return _try_availability(name, lambda: runtime(name).availability())


@cache
def _check_availability(name: str, device: str) -> Availability:
    return _try_availability(name, lambda: session_group.check_availability(runtime(name), device))


def _try_availability(name: str, answer: Callable[[], Availability]) -> Availability:
    try:
        return answer()
    except Exception as error:  # of a package: a sweep that does not name it goes on
        reason = f"asked whether it is here, {name} failed with {type(error).__name__}: {error}"
        return Unavailable(reason, "repair the package that provides it, or uninstall it")


def availability_of(spec: str, environments: Mapping[str, str]) -> Availability:
    """The same of `name[:device][@environment]`, in the environment that it names if it does.

    `environments` are the interpreters by name; PlanError for one that nothing runs in.
    """
    foreign_runtime = _available_there(spec, environments)
    if foreign_runtime:
        return foreign_runtime.availability
    return availability(registry.parse_spec(spec).name)


def check_availability_of(spec: str, environments: Mapping[str, str]) -> Availability:
    """Whether its cases can be checked, which a device that is not here may not need."""
    foreign_runtime, parsed_spec = _available_there(spec, environments), registry.parse_spec(spec)
    if foreign_runtime is None:
        return _check_availability(parsed_spec.name, parsed_spec.device)
    devices = runtime(parsed_spec.name).devices_in(parsed_spec.device)
    return session_group.of_all(
        [foreign_runtime.checks.get(device, foreign_runtime.availability) for device in devices]
    )


def runtime_of(spec: str, environments: Mapping[str, str]) -> Runtime:
    """The runtime of a case, whose devices are those of the environment that it names."""
    base_runtime = runtime(registry.parse_spec(spec).name)
    foreign_runtime = _available_there(spec, environments)
    if foreign_runtime is None:
        return base_runtime
    return on_devices(base_runtime, foreign_runtime.devices)


def on_devices(base_runtime: Runtime, devices: tuple[Device, ...]) -> Runtime:
    """The same runtime where it has other devices than here."""
    return type(base_runtime.name, (type(base_runtime),), {"devices": lambda _: devices})()


def _available_there(spec: str, environments: Mapping[str, str]) -> There | None:
    name = environment_of(spec)
    if not name:
        return None
    return asked(name, environments[name]).runtimes[registry.parse_spec(spec).name]


def options_of(spec: str) -> tuple[Option, ...]:
    """The table of options of `name[:device][@release]`, whose defaults its devices decide too."""
    parsed_spec = registry.parse_spec(spec)
    return session_group.options_on(runtime(parsed_spec.name), parsed_spec.device)


def each_device_of(spec: str) -> tuple[str, ...]:
    """The same name with each of the devices alone that its sessions are dealt over; itself where
    that is one, and where the name is not known."""
    parsed_spec = registry.parse_spec(spec)
    if "+" not in parsed_spec.device or parsed_spec.name not in registry.names():
        return (spec,)
    devices = runtime(parsed_spec.name).devices_in(parsed_spec.device)
    return tuple(str(replace(parsed_spec, device=device)) for device in devices)


def clock_of(spec: str) -> Clock:
    """What times the runs of `name[:device][@release]`; `wall` where the name is not known.

    A run folder may hold the runtimes of another release.
    """
    name = registry.parse_spec(spec).name
    if name == RUNTIME:
        return "imported"
    return runtime(name).clock if name in registry.names() else "wall"


def all_names() -> tuple[str, ...]:
    """Every runtime of the table, here or not; scripted ones only run when named."""
    return tuple(name for name in registry.names() if not runtime(name).only_when_named)


def grid_runtimes(runtimes: Sequence[str], usual: Sequence[str] | None = None) -> tuple[str, ...]:
    """The runtimes of a grid, with `AVAILABLE` replaced by `usual` (default: `available_names()`).

    An empty list is `AVAILABLE` alone. A runtime that the list names with a device is not added
    once more without one: `available,fpga:v80` has the card under its own name only.
    """
    if runtimes and AVAILABLE not in runtimes:
        return tuple(runtimes)
    specs = [registry.parse_spec(text) for text in runtimes if text != AVAILABLE]
    with_device = {spec.name for spec in specs if spec.device}
    names = available_names() if usual is None else usual
    added_names = [name for name in names if name not in with_device]
    name_groups = [
        added_names if text == AVAILABLE else [text] for text in runtimes or (AVAILABLE,)
    ]
    return tuple(dict.fromkeys(name for part in name_groups for name in part))


def available_names(check: bool = False) -> tuple[str, ...]:
    """Those of them that can be used here, or at least checked."""
    availability_check = check_availability_of if check else availability_of
    return tuple(
        name for name in all_names() if isinstance(availability_check(name, {}), Available)
    )


def device_library(spec: str, environments: Mapping[str, str]) -> str:
    """The path of the library that the device of `name[:device][@environment]` stands for.

    `environments` are the interpreters by name. Empty where the device is no package, or where the
    package can't be asked: compiling a case reports why.
    """
    parsed_spec, environment = registry.parse_spec(spec), environment_of(spec)
    if parsed_spec.name not in registry.names() or not runtime(parsed_spec.name).device_is_package:
        return ""
    python = environments[environment] if environment else ""
    command = install_layout.command(
        "runtimes.inquiries", "library", parsed_spec.name, parsed_spec.device, python=python
    )
    try:
        process = run_to_end(command)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if process.returncode else os.fsdecode(process.stdout)


def folder() -> Path:
    """A part of the cache, which need not be there yet."""
    return default_root() / "engines"


def refuse_unwritable() -> None:
    """PlanError if nothing could be kept there: each round would compile its engine again.

    ExportError for a limit of the cache that is none.
    """
    path = folder()
    default_limit_bytes()
    try:
        private_folder(default_root())
        path.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise PlanError(
            f"the engine cache {path} can't be written ({error.strerror})",
            "set GRAPHLAP_CACHE to a folder of your own",
        ) from None
