"""The library behind a device that is named by its package, as a child process locates it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

from app.machine.available import runtime
from app.machine.environments import run_to_end
from exporters import own
from runtimes import registry
from runtimes.environment import environment_of


def device_library(spec: str, environments: Mapping[str, str]) -> str:
    """The path of the library that the device of `name[:device][@environment]` stands for.

    `environments` are the interpreters by name. Empty where the device is no package, or where the
    package can't be asked: compiling a case reports why.
    """
    named, environment = registry.parse_spec(spec), environment_of(spec)
    if named.name not in registry.names() or not runtime(named.name).device_is_package:
        return ""
    python = environments[environment] if environment else ""
    command = own.command("runtimes.device_library", named.name, named.device, python=python)
    try:
        done = run_to_end(command)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else os.fsdecode(done.stdout)
