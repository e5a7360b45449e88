"""The contract of transports: hosts, jobs run and cancelled there, and files sent in blocks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from app.cases.telemetry import Reading
from exporters.types import GraphlapError

PROTOCOL = 2
"""Two sides of another number do not understand each other, and say so."""
BLOCK_BYTES = 1 << 20
"""So much of a file or of a round's samples crosses in one message at most."""
LONGEST_JOB_S = 24 * 3600.0
"""Of a job that names no limit."""
Ending = Literal["stop", "terminate", "kill"]
"""After the block in flight; by asking the process; at once."""


class CarrierError(GraphlapError):
    """A host, or who leads to it, can't be reached or must not be used."""


@dataclass(frozen=True, slots=True)
class RuntimeThere:
    """A runtime as a host has it: its version, or why it is not there and what brings it.

    `devices` are their names by what follows the colon, `near` the cores of a device's own node of
    memory (`0-31`), that of the default device under the empty name.
    """

    version: str = ""
    reason: str = ""
    remedy: str = ""
    devices: Mapping[str, str] = field(default_factory=dict)
    near: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Host:
    """What an agent tells of its machine.

    `name` is what rows call it. Hosts of the same `machine` are one machine, which measures one
    job at a time. `environment` is what `describe_host` tells there, `runtimes` are by name.
    `cores` are those that a job may use. `utc_ns` is its clock when it answered: a host whose
    clock is off still measures, and is warned of.
    """

    name: str
    machine: str
    environment: Mapping[str, Any]
    runtimes: Mapping[str, RuntimeThere]
    cores: tuple[int, ...]
    python: str
    graphlap: str
    utc_ns: int
    protocol: int = PROTOCOL


@dataclass(frozen=True, slots=True)
class HostFile:
    """A file that a job needs, known by its content; `name` is what it is to be called beside the
    job's others, so that a graph finds its weights. `path` is where it lies on this machine."""

    sha256: str
    size_bytes: int
    name: str
    path: Path = field(compare=False)


@dataclass(frozen=True, slots=True)
class HostJob:
    """A job for one worker of a host.

    `id` is `case.round.attempt` with a mark of the sweep, so that one that is handed over twice
    runs once, and another sweep's is another. `kind` is what the worker does (`round`, …). `line`
    is the JSON that it is told. In it the path of one of `files` is `FILE + sha256 + "/" + name`,
    that of the round's samples is `SAMPLES`, and that of the engine cache is `ENGINES`. A worker
    that holds more than `memory_limit_bytes` is ended there; 0 for no limit. `gpus` are those whose
    telemetry is read there. Without `samples` the worker writes none. A worker that is still there
    `limit_s` after it was started is ended there, whoever may have forgotten it; 0 for
    `LONGEST_JOB_S`.
    """

    id: str
    kind: str
    line: str
    files: tuple[HostFile, ...] = ()
    environment: str = ""
    memory_limit_bytes: int = 0
    gpus: tuple[int, ...] = ()
    samples: bool = True
    limit_s: float = 0.0


FILE, SAMPLES, ENGINES = "graphlap-file:", "graphlap-samples:", "graphlap-engines:"
"""What a job's line names by these lies elsewhere on the host: a file, the file of the samples, the
folder where engines keep what they compiled."""


@dataclass(frozen=True, slots=True)
class Said:
    """One line that the worker wrote."""

    line: str


@dataclass(frozen=True, slots=True)
class Block:
    """The next of its samples: `data` begins at byte `offset` of the file."""

    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Told:
    """What the host's devices told while it ran."""

    readings: tuple[Reading, ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """The worker is gone, and all that it left has been told.

    `too_late`: its agent ended it at the job's limit. `exit_code` is negative for a signal.
    """

    how: str
    out_of_memory: bool = False
    killed: bool = False
    too_large: bool = False
    too_late: bool = False
    exit_code: int = 1


@dataclass(frozen=True, slots=True)
class Lost:
    """The host is gone, or the way to it: nothing more comes of the job.

    With `is_ours` nothing is wrong with the host: what the job needs is not to be had on the
    machine of the sweep, and no other host would fare better.
    """

    reason: str
    is_ours: bool = False


Message = Said | Block | Told | Ended | Lost
Hear = Callable[[Message], None]
"""Takes the messages of one job in their order, from any thread; never waits. CarrierError for one
that is more than a job may have: the host is then lost."""


class Carrier(Protocol):
    """Takes jobs to hosts. Raises CarrierError where it can't be used at all."""

    def doctor(self) -> tuple[Host, ...]:
        """Every host that can be reached now, asked anew at each call."""

    def run(self, host: str, job: HostJob, hear: Hear) -> None:
        """Begin a job on the host of this name and return at once.

        What the host lacks of its files is brought there first. `hear` is given what comes of it;
        the last is `Ended` or `Lost`, once.
        """

    def cancel(self, host: str, job_id: str, how: Ending) -> None:
        """End a job; nothing if it is over. Its last message still comes.

        A second `kill` says that the host did not end it: the host is let go, and the last message
        is `Lost`.
        """

    def close(self) -> None:
        """End all jobs and let the hosts go; idempotent."""


class Agent(Protocol):
    """A host's side, the same for every carrier (`app/remote/agent.py` has it).

    A carrier's other end asks it `doctor`, then for each job `lacks`, `keep` for each block of each
    file that is lacking, `run`, and at any time `cancel`, from any thread.
    """

    def doctor(self) -> Host:
        """What this machine is."""

    def lacks(self, files: tuple[HostFile, ...]) -> tuple[str, ...]:
        """The sha256 of those that are not in this machine's store."""

    def keep(self, sha256: str, offset: int, data: bytes, size_bytes: int) -> None:
        """Take one block of a file, in order; the last is checked against the sha256.

        Raises CarrierError for a content of another sum, a store that is full or a size beyond
        its bound.
        """

    def run(self, job: HostJob, hear: Hear) -> None:
        """Run the job to its end, telling as it goes; the last message is `Ended`."""

    def cancel(self, job_id: str, how: Ending) -> None:
        """End the job of this id, which may not have begun yet."""


class Unreadable(CarrierError):
    """A file that a job needs is gone from this machine, or is another: no host can have it."""


def blocks(file: HostFile) -> Iterator[tuple[int, bytes]]:
    """Offset and data of each in order, one for an empty file; Unreadable, at the latest before the
    block that would have made it whole."""
    offset, digest = 0, hashlib.sha256()
    try:
        with file.path.open("rb") as content:
            while not offset or offset < file.size_bytes:
                data = content.read(BLOCK_BYTES)
                digest.update(data)
                left = file.size_bytes - offset - len(data)
                if left < 0 or (left and not data) or (not left and _other(digest, file)):
                    raise _unreadable(file.path, "it has changed")
                yield offset, data
                offset += len(data)
                if not left:
                    return
    except OSError as error:
        raise unreadable(error, file.path) from error


def unreadable(error: OSError, path: Path | None = None) -> Unreadable:
    """Of the file that the error names, or of this one."""
    return _unreadable(path or error.filename, error.strerror or str(error))


def _unreadable(path: Path | str, why: str) -> Unreadable:
    return Unreadable(
        f"{path} can't be read any more ({why})", "resume the run, which exports it again"
    )


def _other(digest: hashlib._Hash, file: HostFile) -> bool:
    return digest.hexdigest() != file.sha256
