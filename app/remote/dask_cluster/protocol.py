"""The protocol of sweep and agent through Dask: settings, version checks and messages."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from app.machine.environment import graphlap_version
from app.remote.contract import PROTOCOL, Block, CarrierError, HostFile, HostJob, Message
from app.remote.wire import (
    files_read,
    files_written,
    job_read,
    job_written,
    message_read,
    message_written,
)
from exporters.codec import object_of

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


def refuse_others(name: str, peer_versions: Mapping[str, Any]) -> None:
    """CarrierError where the worker of this name differs in one that matters.

    Dask pickles what it sends, so that its own release and Python's must be the same
    (dask/distributed#7017, #6113); Graphlap's must be, or a row would be of another program.
    """
    for package, local_version in versions().items():
        if peer_versions.get(package) != local_version:
            raise CarrierError(
                f"the worker {name} has {package} {peer_versions.get(package, 'unknown')}, "
                f"and this machine has {local_version}",
                "install the same there",
            )


def refuse_scheduler(address: str, scheduler_info: Mapping[str, Any]) -> None:
    """The same for the scheduler, of what `Scheduler.versions` tells: it needs no Graphlap."""
    python = ".".join(str(scheduler_info["host"].get("python", "unknown")).split(".")[:2])
    remote_versions = {
        "Python": python,
        "distributed": scheduler_info["packages"].get("distributed"),
    }
    local_versions = versions()
    for package, remote_version in remote_versions.items():
        if remote_version != local_versions[package]:
            raise CarrierError(
                f"the scheduler {address} has {package} {remote_version or 'unknown'}, "
                f"and this machine has {local_versions[package]}",
                "install the same there",
            )


PREFIX = "graphlap-"
"""Of the names of our questions among those that a Dask worker answers."""


def packed(message: Message) -> dict[str, Any]:
    """What Dask takes: texts, numbers and bytes."""
    if isinstance(message, Block):
        return {"offset": message.offset, "data": message.data}
    return {"told": json.dumps(message_written(message))}


def unpacked(values: dict[str, Any]) -> Message:
    """The message back; CarrierError for what is none."""
    if "data" in values:
        return Block(int(values["offset"]), bytes(values["data"]))
    return message_read(object_of(str(values["told"])))


def packed_job(job: HostJob) -> str:
    """All of it but where its files lie here."""
    return json.dumps(job_written(job))


def unpacked_job(text: str) -> HostJob:
    return job_read(object_of(text))


def packed_files(files: Sequence[HostFile]) -> str:
    return json.dumps(files_written(tuple(files)))


def unpacked_files(text: str) -> tuple[HostFile, ...]:
    return files_read(json.loads(text))
