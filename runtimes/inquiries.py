"""What a process of its own tells of runtimes, so that who asks imports no engine.

`python -m runtimes.inquiries probe NAME` loads one runtime and outlives no crash of it. `inventory
NAME…` tells which of them an environment has, by whose interpreter it runs; nothing is loaded for
it, so that it is quick. `library NAME DEVICE` prints the path of the library that a device stands
for, and imports the package that brings it. The first two answer in JSON. What engines and loaders
print goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from exporters.types import GraphlapError, first_line
from runtimes import registry
from runtimes.base import Unavailable
from runtimes.packaged import Unusable


def probe(name: str) -> dict[str, Any]:
    """`version`, `devices` and `load_ms` of a runtime that works, else `reason` and `remedy`."""
    runtime = registry.load(name)
    state = runtime.availability()
    if isinstance(state, Unavailable):
        version_field = {"version": runtime.version} if isinstance(runtime, Unusable) else {}
        return {**version_field, **asdict(state)}
    start_time = time.perf_counter()
    try:
        runtime.load()
        devices = [asdict(device) for device in runtime.loaded_devices()]
    except GraphlapError as error:
        return {"version": state.version, "reason": error.cause, "remedy": error.remedy}
    except Exception as error:
        reason = f"it does not load ({first_line(error)})"
        return {"version": state.version, "reason": reason, "remedy": "install it again"}
    spent_ms = (time.perf_counter() - start_time) * 1e3
    return {"version": state.version, "devices": devices, "load_ms": spent_ms}


def told(name: str) -> dict[str, Any]:
    """Whether a runtime is there, by `version` or by `reason` and `remedy`; its `devices`, and
    by their keys, "" for none, whether cases can be checked for them."""
    try:
        runtime = registry.load(name)
        devices = runtime.devices()
        keys = ("", *(device.key for device in devices))
        return {
            **asdict(runtime.availability()),
            "devices": [asdict(device) for device in devices],
            "checks": {key: asdict(runtime.check_availability(key)) for key in keys},
        }
    except GraphlapError as error:
        return asdict(Unavailable(error.cause, error.remedy))
    except Exception as error:  # one that can't be asked hides no other
        reason = f"{name} can't be asked there ({type(error).__name__}: {error})"
        return asdict(Unavailable(reason, "install it there again"))


def answer_to(kind: str, names: Sequence[str]) -> bytes:
    if kind == "library":
        name, device = names
        return os.fsencode(registry.load(name).device_library(device))
    answer = probe(names[0]) if kind == "probe" else {name: told(name) for name in names}
    return json.dumps(answer).encode()


def main() -> None:
    # Engines print to standard output, from C as well: the answer keeps its own.
    answer = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    answer.write(answer_to(sys.argv[1], sys.argv[2:]))
    # An engine's exit handlers may crash or hang after all is said.
    os._exit(0)


if __name__ == "__main__":
    main()
