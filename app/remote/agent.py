"""The agent of a host, for every transport: facts of its machine, one measuring child at a time."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event, Lock
from typing import Any

from app.machine import installed_runtimes
from app.machine.child import MODULES, Bell, Child
from app.machine.environment import MACHINE, describe_host, graphlap_version, this_machine
from app.machine.installed_runtimes import availability, runtime
from app.machine.placement import keep_to, usable_cores
from app.machine.telemetry import Telemetry, Watch
from app.remote.contract import (
    LONGEST_JOB_S,
    CarrierError,
    Ended,
    Ending,
    Hear,
    Host,
    HostFile,
    HostJob,
    RuntimeThere,
)
from app.remote.running_job import Turn, UnderWay, line_there, scrubbed
from app.remote.workspace import FileStore, OwnFolder, disk_there
from exporters import install_layout
from exporters.cache import default_limit_bytes, default_root
from exporters.file_access import private_folder
from runtimes import registry
from runtimes.base import Runtime, Unavailable


def host_here(name: str, machine: str, cores: Collection[int]) -> Host:
    """This machine as a host; an empty `name` is its own, and an empty `machine` what it runs."""
    description = describe_host()
    if machine:
        description[MACHINE] = machine
    return Host(
        name=name or socket.gethostname(),
        machine=description[MACHINE],
        environment=description,
        runtimes={
            runtime_name: _describe_runtime(runtime_name) for runtime_name in registry.names()
        },
        cores=tuple(sorted(cores)),
        python=description["python"],
        graphlap=graphlap_version(),
        utc_ns=time.time_ns(),
    )


def _describe_runtime(name: str) -> RuntimeThere:
    state, known = availability(name), runtime(name)
    if isinstance(state, Unavailable):
        return RuntimeThere(reason=state.reason, remedy=state.remedy)
    devices = {device.key: device.name for device in known.devices()}
    return RuntimeThere(state.version, devices=devices, near=_nearby_cores(known, devices))


def _nearby_cores(known: Runtime, devices: Collection[str]) -> dict[str, str]:
    """The cores near each device, those of the default one under the empty name."""
    if not known.accelerator:
        return {}
    near = {device: known.cores_near(device) for device in ("", *devices)}
    return {device: cores for device, cores in near.items() if cores}


SAMPLES_FILE = "samples.bin"
KINDS = ("round", "operators")
"""The workers that end by themselves: one that serves would hold the machine's turn for ever."""
MOST_JOBS = 32
"""Of one sweep, that wait or run; it hands over one for each host."""
_MOST_REMEMBERED, _LONGEST_ID = 10_000, 300


class Agent:
    """Fulfils `app.remote.contract.Agent`; `close` ends what is left of a job.

    `name` is what rows call this machine, empty for its own name. Workers of one `machine` take
    turns; empty for all that run on this kernel. Jobs have `cores`, () for all that this process
    may use. `root` holds files and jobs, by default a part of the cache. `commands` start kinds of
    workers that are none of ours, for tests.
    """

    def __init__(
        self,
        name: str = "",
        cores: Collection[int] = (),
        machine: str = "",
        root: Path | None = None,
        commands: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._name, self._machine = name, machine
        self._usable = usable_cores()
        if strangers := set(cores) - self._usable:
            raise CarrierError(
                f"core {min(strangers)} is not there, or not allowed to this process",
                f"choose among {sorted(self._usable)}",
            )
        self._cores = set(cores) or self._usable
        self._root = root or default_root() / "worker"
        with disk_there(self._root):
            for folder in (self._root.parent, self._root):  # the cache may not be there yet
                private_folder(folder)
            self._own_folder = OwnFolder(self._root / "agents")
        self._store = FileStore(self._root, default_limit_bytes(), self._own_folder.path)
        self._turn = Turn(self._root / _turn_name(machine or this_machine()))
        self._commands = commands or {}
        self._telemetry: Telemetry | None = None
        self._measuring, self._lock = Lock(), Lock()
        self._known: dict[str, Event] = {}
        self._ended_early: dict[str, None] = {}
        self._job_count = 0
        self._current: tuple[str, Child] | None = None

    def doctor(self) -> Host:
        return host_here(self._name, self._machine, self._cores)

    def lacks(self, files: tuple[HostFile, ...]) -> tuple[str, ...]:
        return self._store.lacks(files)

    def keep(self, sha256: str, offset: int, data: bytes, size_bytes: int) -> None:
        self._store.keep(sha256, offset, data, size_bytes)

    def run(self, job: HostJob, hear: Hear) -> None:
        """As the contract says; CarrierError for a job that can't begin, or that ran before."""
        given_up = self._accept(job)
        try:
            self._run(job, hear, given_up)
        finally:
            with self._lock:
                self._job_count -= 1

    def _accept(self, job: HostJob) -> Event:
        """Know the job, and give what ends its waiting; CarrierError for one that can't begin."""
        if job.kind not in (*KINDS, *self._commands):
            raise CarrierError(
                f"{job.kind!r:.40} is no kind of job", "use the same Graphlap on both sides"
            )
        _refuse_long(job.id)
        with self._lock:
            if job.id in self._known:
                raise CarrierError(f"the job {job.id} was handed over twice", "nothing is lost")
            if self._job_count >= MOST_JOBS:
                raise CarrierError(f"{MOST_JOBS} jobs are waiting already", "wait for their end")
            self._job_count += 1
            given_up = self._known[job.id] = Event()
            _forget_first(self._known)
            return given_up

    def _run(self, job: HostJob, hear: Hear, given_up: Event) -> None:
        with self._measuring, self._turn_of(given_up), self._job_folder() as folder:
            samples = folder / SAMPLES_FILE
            values = line_there(job, folder, samples, installed_runtimes.folder())
            for file in job.files:
                self._store.link(file, folder)
            with self._start_child(job, values.get("affinity", ())) as (child, bell):
                if child is None:
                    hear(Ended("it was cancelled before it began", killed=True))
                    return
                child.send(json.dumps(values))
                watch = Watch(child.pid, job.memory_limit_bytes, job.gpus, self._devices())
                limit_s = job.limit_s or LONGEST_JOB_S
                UnderWay(child, bell, watch, samples if job.samples else None, hear, limit_s).run()

    def cancel(self, job_id: str, how: Ending) -> None:
        _refuse_long(job_id)
        with self._lock:
            if self._current is None or self._current[0] != job_id:
                self._ended_early[job_id] = None
                _forget_first(self._ended_early)
                if job_id in self._known:
                    self._known[job_id].set()
                return
            child = self._current[1]
            if how == "stop":
                child.send("stop")
            elif how == "terminate":
                child.terminate()
            else:
                child.kill()

    def close(self) -> None:
        """End the job in flight, and forget files that came in part; idempotent."""
        with self._lock:
            if self._current is not None:
                self._current[1].kill()
        self._store.close()
        self._own_folder.close()

    @contextlib.contextmanager
    def _turn_of(self, given_up: Event) -> Iterator[None]:
        """Once nobody else measures on this machine; a job that was given up finds that itself."""
        with contextlib.ExitStack() as stack:
            with disk_there(self._root):
                stack.enter_context(self._turn.taken(given_up))
            yield

    @contextlib.contextmanager
    def _start_child(
        self, job: HostJob, affinity: Collection[int]
    ) -> Iterator[tuple[Child | None, Bell]]:
        """The worker, or None for a job that was cancelled before; it is ended in any case."""
        if job.environment:
            raise CarrierError(
                f"the environment {job.environment!r} is one of another machine", "remove it"
            )
        command = self._commands.get(job.kind)
        bell = Bell()
        child: Child | None = None
        try:
            with self._lock:
                if job.id not in self._ended_early:
                    child = self._child(
                        command or install_layout.command(MODULES[job.kind]), bell, affinity
                    )
                    self._current = job.id, child
            yield child, bell
        finally:
            with self._lock:
                self._current = None
            if child is not None:
                child.close()
            bell.close()

    def _child(self, command: Sequence[str], bell: Bell, affinity: Collection[int]) -> Child:
        """Started with all of the host's cores, while every thread of ours keeps off the job's."""
        keep_to(self._cores)
        try:
            return Child(command, bell, scrubbed())
        except OSError as error:
            raise CarrierError(
                f"no worker can be started there ({error.strerror})", "see graphlap doctor there"
            ) from error
        finally:
            _keep_threads_to(self._usable - set(affinity) or self._usable)

    def _devices(self) -> Telemetry:
        if self._telemetry is None:
            self._telemetry = Telemetry.of_this_machine()
        return self._telemetry

    @contextlib.contextmanager
    def _job_folder(self) -> Iterator[Path]:
        with disk_there(self._root):
            private_folder(installed_runtimes.folder().parent)
            folder = Path(tempfile.mkdtemp(dir=self._own_folder.path))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _refuse_long(job_id: str) -> None:
    if len(job_id) > _LONGEST_ID:
        raise CarrierError(f"{job_id!r:.40} is no job's id", "use the same Graphlap on both sides")


def _forget_first(entries: dict[str, Any]) -> None:
    """Ids are remembered so that a job runs once, but not without a bound."""
    while len(entries) > _MOST_REMEMBERED:
        del entries[next(iter(entries))]


def _turn_name(machine: str) -> str:
    return f"turn-{hashlib.sha256(machine.encode()).hexdigest()[:16]}"


def _keep_threads_to(cores: Collection[int]) -> None:
    """All threads of this process: what is no measurement is to take no core from one."""
    tasks = Path("/proc/self/task")
    if not (tasks.is_dir() and hasattr(os, "sched_setaffinity")):
        return
    for thread in tasks.iterdir():
        with contextlib.suppress(OSError):  # it has ended
            os.sched_setaffinity(int(thread.name), cores)
