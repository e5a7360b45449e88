"""What two ends must agree on before the first job: compared, and refused with both named."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any

from app.carriers.contract import PROTOCOL, CarrierError
from app.machine.environment import graphlap_version

KEY = "graphlap"
"""Under which a worker tells the scheduler that it measures, and with what."""


def versions() -> dict[str, Any]:
    """This end's, by the name that a sentence calls each."""
    return {
        "Graphlap": graphlap_version(),
        "the carriers' protocol": PROTOCOL,
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "distributed": metadata.version("distributed"),
    }


def refuse_others(name: str, theirs: Mapping[str, Any]) -> None:
    """CarrierError where the worker of this name differs in one that matters.

    Dask pickles what it sends, so that its own release and Python's must be the same
    (dask/distributed#7017, #6113); Graphlap's must be, or a row would be of another program.
    """
    for what, mine in versions().items():
        if theirs.get(what) != mine:
            raise CarrierError(
                f"the worker {name} has {what} {theirs.get(what, 'unknown')}, "
                f"and this machine has {mine}",
                "install the same there",
            )


def refuse_scheduler(address: str, theirs: Mapping[str, Any]) -> None:
    """The same for the scheduler, of what `Scheduler.versions` tells: it needs no Graphlap."""
    python = ".".join(str(theirs["host"].get("python", "unknown")).split(".")[:2])
    told = {"Python": python, "distributed": theirs["packages"].get("distributed")}
    mine = versions()
    for what, there in told.items():
        if there != mine[what]:
            raise CarrierError(
                f"the scheduler {address} has {what} {there or 'unknown'}, "
                f"and this machine has {mine[what]}",
                "install the same there",
            )
