"""`python -m runtimes.inventory NAME…`: tell as JSON which of these runtimes an environment has.

It runs in that environment, by its interpreter. Nothing is loaded for it, so that it is quick:
whether an engine that is there also works, `runtimes.probe` tells.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import Any

from exporters.types import GraphlapError
from runtimes import registry
from runtimes.base import Unavailable


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


def main() -> None:
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no part of the answer
    json.dump({name: told(name) for name in sys.argv[1:]}, answer)
    answer.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
