"""`python -m runtimes.probe NAME`: load one runtime here and tell as JSON what came of it.

A process of its own, so that who asks imports no engine and outlives one that crashes while
it is loaded. What its loader says on the way goes to standard error, for who asks to keep.
"""

from __future__ import annotations

import json
import os
import sys
import time
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


def main() -> None:
    # Engines print to standard output, from C as well: the answer keeps its own.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    json.dump(probe(sys.argv[1]), answer)
    answer.flush()
    # An engine's exit handlers may crash or hang after all is said.
    os._exit(0)


if __name__ == "__main__":
    main()
