"""A host: what it tells of its machine, and its side of a link, where it has a share of a run
measured by the batch mode and sends its files back."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from app.cases.errors import unwritable
from app.machine.child import STEERED, Bell, Child, Pipes
from app.machine.environment import MACHINE, describe_host, graphlap_version, this_machine
from app.machine.installed_runtimes import availability, runtime
from app.machine.placement import keep_to, usable_cores
from app.sweep.remote.link import BEAT_S, HostError, Link, data_of
from exporters import install_layout
from exporters.cache import Entry, Store, default_limit_bytes, default_root, key_of
from exporters.codec import object_of, to_json
from exporters.file_access import file_sha256, private_folder, read_file, try_lock
from exporters.types import GraphlapError
from runtimes import registry

LOCK_WAIT_S = 60.0
"""A machine that measures for somebody else is waited for so long."""
_LOOK_S = 0.25
_LAUNCHERS = re.compile("(BLIS|GLIBC|GOMP|KMP|MALLOC|MKL|NUMEXPR|OMP|OPENBLAS|VECLIB)_")
"""Of what launchers set for engines' threads and memory, which a share goes without."""


@dataclass(frozen=True, slots=True)
class RuntimeThere:
    """A runtime as a host has it: its version, or why it is not there and what brings it.

    `devices` are their names by what follows the colon.
    """

    version: str = ""
    reason: str = ""
    remedy: str = ""
    devices: Mapping[str, str] = field(default_factory=dict)


_UNKNOWN = RuntimeThere(reason="it is not known there", remedy="install what brings it")


@dataclass(frozen=True, slots=True)
class Host:
    """`name` is what rows call it. Hosts of the same `machine` are one machine, which measures one
    share at a time. `environment` is what `describe_host` tells there, `runtimes` are by name.
    `cores` are those that it measures on. `utc_ns` is its clock when it answered, `clock_off_s` by
    how much that is ahead of ours, 0 while it may be right.
    """

    name: str
    machine: str
    environment: Mapping[str, Any]
    runtimes: Mapping[str, RuntimeThere]
    cores: tuple[int, ...]
    utc_ns: int
    clock_off_s: float = 0.0

    def runtime(self, spec: str) -> RuntimeThere:
        """That of `name[:device]`; without a `reason` it is there."""
        parsed_spec = registry.parse_spec(spec)
        entry = self.runtimes.get(parsed_spec.name, _UNKNOWN)
        for device in runtime(parsed_spec.name).devices_in(parsed_spec.device):
            if device and entry.devices and device not in entry.devices:
                there = ", ".join(entry.devices)
                return RuntimeThere("", f"it has no device {device!r} there", f"it has {there}")
        return entry

    def has(self, spec: str) -> bool:
        return not self.runtime(spec).reason


def host_here(name: str, machine: str, cores: Collection[int]) -> Host:
    """This machine as a host; an empty `machine` is what it says itself."""
    description = describe_host()
    machine = machine or description[MACHINE]
    return Host(
        name=name,
        machine=machine,
        environment={**description, MACHINE: machine},
        runtimes={entry: _describe_runtime(entry) for entry in registry.names()},
        cores=tuple(sorted(cores)),
        utc_ns=time.time_ns(),
    )


def _describe_runtime(name: str) -> RuntimeThere:
    devices = {device.key: device.name for device in runtime(name).devices()}
    return RuntimeThere(**asdict(availability(name)), devices=devices)


class Server:
    """Serves one run over a pair of descriptors until the link is gone; see `serve`."""

    def __init__(self, source: int, target: int, cores: Collection[int], machine: str) -> None:
        usable = usable_cores()
        if strangers := set(cores) - usable:
            raise HostError(
                f"core {min(strangers)} is not there, or not allowed to this process",
                f"choose among {sorted(usable)}",
            )
        self._cores, self._machine = set(cores) or usable, machine
        self._root = default_root() / "worker"
        self._store = Store(self._root, default_limit_bytes())
        self._bell, self._inbox = Bell(), list[dict[str, Any]]()
        ends = os.fdopen(target, "wb", 0, closefd=False), os.fdopen(source, "rb", 0, closefd=False)
        self._link = Link("", Pipes(*ends, bell=self._bell))

    def serve(self) -> int:
        """Until the link is gone, or silent for too long; returns the exit code."""
        self._link.send({"graphlap": graphlap_version()})
        with closing(self._bell), suppress(EOFError):
            while True:
                values = self._take()
                if "doctor" in values:
                    name = str(values["doctor"])
                    self._link.send({"host": to_json(host_here(name, self._machine, self._cores))})
                elif "share" in values:
                    self._answer_share(values["share"])
        return 0

    def _answer_share(self, files: Mapping[str, str]) -> None:
        """Whatever becomes of it, the run is told."""
        try:
            with self._store.scratch() as scratch:
                code, error = self._measure(files, scratch)
                while self._link.is_sending:
                    self._take(_LOOK_S)
            self._link.send({"ended": code, "error": error})
        except GraphlapError as fault:
            self._link.send({"refused": str(fault)})
        except OSError as error:
            advice = " there, or set GRAPHLAP_CACHE to another folder"
            self._link.send({"refused": str(unwritable(self._root, error, advice, " there"))})

    def _measure(self, files: Mapping[str, str], scratch: Path) -> tuple[int, str]:
        """The exit code of the batch mode, and the last that it said."""
        share = scratch / "share"
        self._bring(files, share)
        sent = _sizes(share)  # what came with the share is where it came from
        with self._machine_to_itself():
            keep_to(self._cores)
            own = {name: text for name, text in os.environ.items() if not _LAUNCHERS.match(name)}
            command = install_layout.command("app", "resume", str(share), "--quiet")
            child = Child(command, environ={**own, STEERED: "1"})
            try:
                return self._follow(child, share, sent)
            finally:
                child.close()

    def _bring(self, files: Mapping[str, str], share: Path) -> None:
        """Lay out the files of these contents, of which those are sent that are not here."""
        entries = {digest: self._store.get(key_of(sha256=digest)) for digest in files.values()}
        self._link.send({"lacks": [digest for digest, entry in entries.items() if entry is None]})
        private_folder(share)
        for name, digest in files.items():
            place = Path(os.path.normpath(share / name))
            if not place.is_relative_to(share):
                raise HostError(f"{name!r:.80} is no file's name", "use the same Graphlap on both")
            place.parent.mkdir(parents=True, exist_ok=True)
            entry = entries[digest] = entries[digest] or self._receive(digest, place)
            try:
                os.link(entry.files["file"], place)
            except OSError:  # a file system without links
                shutil.copyfile(entry.files["file"], place)

    def _receive(self, digest: str, part: Path) -> Entry:
        """Keep what is sent next, which has this content."""
        with part.open("xb") as file:
            while data := data_of(self._take()):
                file.write(data)
        if file_sha256(part) != digest:
            raise HostError(
                f"the file {digest:.12} has another content than it should",
                "it changed while it was sent: resume the run",
            )
        entry = self._store.put(key_of(sha256=digest), {}, {"file": part})
        self._store.settle()
        return entry

    def _follow(self, child: Child, share: Path, sent: dict[Path, int]) -> tuple[int, str]:
        """Send what the child writes until it is gone; pass on what it is told."""
        while True:
            if "stop" in self._take(_LOOK_S):
                child.send("stop")
            child.lines()
            is_over = child.ended()
            for path in _sizes(share):
                *lines, _ = read_file(path, sent.get(path, 0)).split(b"\n")
                for line in lines:
                    self._send_line(share, line)
                sent[path] = sent.get(path, 0) + sum(len(line) + 1 for line in lines)
            if is_over:
                return child.exit_code(), child.how_it_ended()

    def _send_line(self, share: Path, line: bytes) -> None:
        """A journal's line goes after the files that it tells of."""
        values = object_of(line)
        names = [values.get("file")]
        if values.get("kind") == "round":
            stem = f"{values['case_id']}.{values['round']}"
            names = [f"samples/{stem}.bin", f"telemetry/{stem}.jsonl"]
        for name in names:
            if name and (share / name).is_file():
                self._link.send({"file": name}, share / name)
        self._link.send({"line": line.decode()})

    def _take(self, wait_s: float | None = None) -> dict[str, Any]:
        """The next message, where one is given nothing after this time; EOFError once the run is
        gone, or silent for too long."""
        while not self._inbox:
            self._bell.wait(BEAT_S if wait_s is None else wait_s)
            self._inbox += self._link.take()
            if not self._inbox and self._link.lost:
                raise EOFError
            if wait_s is not None:
                break
        return self._inbox.pop(0) if self._inbox else {}

    @contextmanager
    def _machine_to_itself(self) -> Iterator[None]:
        """Once nobody else measures on this machine; HostError after `LOCK_WAIT_S`."""
        name = key_of(machine=self._machine or this_machine())[:16]
        until_s, what = time.monotonic() + LOCK_WAIT_S, "another run measures there"
        with (self._root / f"turn-{name}").open("w") as lock:
            with suppress(OSError):  # a file system without locks has no turns
                if not try_lock(lock.fileno()):
                    self._link.send({"waits": f"{what}, waiting {LOCK_WAIT_S:g} s"})
                while not try_lock(lock.fileno()):
                    if time.monotonic() > until_s:
                        raise HostError(what, "wait for its end, then resume")
                    self._take(_LOOK_S)
            yield


def _sizes(share: Path) -> dict[Path, int]:
    """Of the journals of a share."""
    return {path: path.stat().st_size for path in sorted((share / "journal").glob("*.jsonl"))}
