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
    """One of Dask's, by its name in Dask's configuration (`distributed.yaml`)."""

    name: str
    value: Any
    why: str


WORKER = (
    Setting(
        "distributed.admin.tick.interval", "2s", "looks at its event loop 50 times a second else"
    ),
    Setting("distributed.admin.tick.limit", "1 minute", "warns of every tick of 3 s else"),
    Setting("distributed.worker.profile.enabled", False, "takes its stack 100 times a second else"),
    Setting("distributed.admin.system-monitor.interval", "1h", "reads /proc twice a second else"),
    Setting("distributed.admin.system-monitor.gil.enabled", False, "a thread polls each ms else"),
    Setting("distributed.admin.system-monitor.disk", False, "reads all disks' counters else"),
    Setting("distributed.diagnostics.nvml", False, "asks the measured GPU each time it beats else"),
    Setting("distributed.worker.memory.target", False, "the job's memory is not in this process"),
    Setting("distributed.worker.memory.spill", False, "nothing that it holds is to be written out"),
    Setting("distributed.worker.memory.pause", False, "a full host must not stop the queue"),
    Setting("distributed.worker.memory.terminate", False, "a job's own limit ends the job alone"),
    Setting("distributed.worker.http.routes", [], "a web page would be one more open door"),
)
"""Of `graphlap worker`, and of a worker that one of Dask's launchers starts with our class."""

SCHEDULER = (
    Setting("distributed.scheduler.work-stealing", False, "a job belongs to the worker it names"),
    Setting("distributed.scheduler.active-memory-manager.start", False, "there is nothing to move"),
    Setting("distributed.worker.profile.enabled", False, "as on a worker"),
    Setting("distributed.admin.tick.interval", "2s", "as on a worker"),
    Setting("distributed.admin.tick.limit", "1 minute", "as on a worker"),
    Setting("distributed.admin.system-monitor.interval", "1h", "as on a worker"),
    Setting("distributed.admin.system-monitor.gil.enabled", False, "as on a worker"),
    Setting("distributed.admin.system-monitor.disk", False, "as on a worker"),
)
"""Of `dask scheduler`, where it shares a machine with a worker; told to it by its environment."""

CLIENT = (
    Setting("distributed.worker.profile.enabled", False, "the sweep's end has an event loop too"),
    Setting("distributed.client.scheduler-info-interval", "1h", "is asked for when it is needed"),
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
