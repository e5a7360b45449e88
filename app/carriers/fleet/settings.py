"""Dask's settings as a measuring worker, its scheduler and the sweep's end have them, and why.

With Dask's own defaults an idle worker takes 3 to 5 % of a core from what is measured beside it.
One table, so that what is told, what is set and what a test asks for is one thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

HEARTBEAT_S = 2.0
"""How often a worker says that it lives. Dask asks for twice a second of ten workers or fewer."""
RESOURCE = "measure"
"""Each worker has one of it, each job needs one: whoever else sends jobs waits for it too."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One of Dask's, by its name in Dask's configuration (`distributed.yaml`), and what its own
    default would do here."""

    name: str
    value: Any
    otherwise: str


_QUIET = (
    Setting("distributed.admin.tick.interval", "2s", "wakes 50 times a second"),
    Setting("distributed.admin.tick.limit", "60s", "takes a rare check for a hanging loop"),
    Setting("distributed.admin.tick.cycle", "60s", "counts these checks every second"),
    Setting("distributed.worker.profile.enabled", False, "takes its own stack 100 times a second"),
    Setting("distributed.admin.system-monitor.interval", "1h", "reads /proc twice a second"),
    Setting("distributed.admin.system-monitor.disk", False, "counts what all disks do"),
    Setting("distributed.admin.system-monitor.gil.enabled", False, "asks for the GIL each ms"),
)

WORKER = (
    *_QUIET,
    Setting("distributed.diagnostics.nvml", False, "queries the measured GPU"),
    Setting("distributed.worker.memory.target", False, "writes out what a task holds"),
    Setting("distributed.worker.memory.spill", False, "the same by the process's size"),
    Setting("distributed.worker.memory.pause", False, "takes no job while it is large"),
    Setting("distributed.worker.memory.terminate", False, "ends itself; a job has its own limit"),
    Setting("distributed.worker.http.routes", [], "serves pages over HTTP"),
)
"""Of `graphlap worker`, and of a worker that one of Dask's launchers starts with our class."""

SCHEDULER = (
    *_QUIET,
    Setting("distributed.scheduler.work-stealing", False, "may give a job to an idle worker"),
    Setting("distributed.scheduler.active-memory-manager.start", False, "looks for copies"),
)
"""Of `dask scheduler`, where it shares a machine with a worker; told to it by its environment."""

CLIENT = (
    Setting("distributed.worker.profile.enabled", False, "takes its own stack too"),
    Setting("distributed.client.scheduler-info-interval", "1h", "asks every 2 s"),
)
"""Of the sweep's own process."""


def configuration(settings: tuple[Setting, ...]) -> dict[str, Any]:
    """What `dask.config.set` takes."""
    return {setting.name: setting.value for setting in settings}


def as_environment(settings: tuple[Setting, ...]) -> dict[str, str]:
    """The same as variables that Dask reads when it is imported; its values are Python literals."""
    return {
        "DASK_" + s.name.replace(".", "__").replace("-", "_").upper(): str(s.value)
        for s in settings
    }
