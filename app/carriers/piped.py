"""A carrier over agents on pipes: each host is a command, by which its agent is started.

The command may lead anywhere, as `ssh` does. A host that was lost is started anew by its next job.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from threading import Lock, Thread

from app.carriers.bringing import Unreadable, blocks
from app.carriers.connection import Connection
from app.carriers.contract import (
    CarrierError,
    Ended,
    Ending,
    Hear,
    Host,
    HostFile,
    HostJob,
    Lost,
    Message,
)
from app.carriers.wire import SILENCE_S, files_written, job_written
from exporters.codec import CodecError, from_json


class PipedCarrier:
    """`commands` are by the names of the hosts, as rows are to call them."""

    def __init__(self, commands: Mapping[str, Sequence[str]], silence_s: float = SILENCE_S) -> None:
        self._hosts = {name: _Host(name, command, silence_s) for name, command in commands.items()}

    def doctor(self) -> tuple[Host, ...]:
        """All of them, asked at once; CarrierError names those that can't be reached."""
        with ThreadPoolExecutor(len(self._hosts)) as pool:
            asked = [pool.submit(host.doctor) for host in self._hosts.values()]
            try:
                wait(asked)
            except BaseException:  # Ctrl-C: those that wait for an answer end at once
                self.close()
                raise
        faults = [fault for one in asked if (fault := one.exception()) is not None]
        ours = [fault for fault in faults if isinstance(fault, CarrierError)]
        for fault in faults:
            if fault not in ours:
                raise fault
        if ours:
            raise CarrierError("; ".join(fault.cause for fault in ours), ours[0].remedy)
        return tuple(one.result() for one in asked)

    def run(self, host: str, job: HostJob, hear: Hear) -> None:
        self._hosts[host].run(job, hear)

    def cancel(self, host: str, job_id: str, how: Ending) -> None:
        self._hosts[host].cancel(job_id, how)

    def close(self) -> None:
        """All at once: one that does not hear of it is waited for a second."""
        with ThreadPoolExecutor(len(self._hosts)) as pool:
            list(pool.map(_Host.close, self._hosts.values()))


class _Host:
    """One agent, started when it is first needed and again after it was lost."""

    def __init__(self, name: str, command: Sequence[str], silence_s: float) -> None:
        self._name, self._command, self._silence_s = name, command, silence_s
        self._lock, self._connecting = Lock(), Lock()
        self._connection: Connection | None = None
        self._cancelled: set[str] = set()
        self._killed: set[str] = set()
        self._closed = False

    def doctor(self) -> Host:
        told = self._connected().ask("doctor")
        try:
            return replace(from_json(Host, told), name=self._name)
        except CodecError as error:
            raise CarrierError(
                f"{self._name} sends what can't be parsed ({error})",
                "install the same Graphlap there",
            ) from None

    def run(self, job: HostJob, hear: Hear) -> None:
        Thread(target=self._begin, args=(job, _once(hear)), daemon=True).start()

    def cancel(self, job_id: str, how: Ending) -> None:
        with self._lock:
            self._cancelled.add(job_id)
            connection, is_disobeyed = self._connection, job_id in self._killed
            if how == "kill":
                self._killed.add(job_id)
        if connection is not None:
            # A host that takes nothing keeps who writes to it waiting, which the sweep must not.
            end = partial(connection.cancel, job_id, how)
            if is_disobeyed and how == "kill":
                end = partial(connection.close, "it did not end a job that was killed")
            Thread(target=end, daemon=True).start()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            connection = self._connection
        if connection is not None:
            connection.close()

    def _connected(self) -> Connection:
        """The connection that there is, or a new one; CarrierError."""
        with self._connecting:
            with self._lock:
                known = self._connection
            if known is not None and not known.lost:
                return known
            found = Connection(self._name, self._command, self._silence_s)
            with self._lock:
                self._connection = found
                is_late = self._closed
            if is_late:
                found.close()
            found.greeted()
            return found

    def _begin(self, job: HostJob, hear: Hear) -> None:
        """Bring what the host lacks, then have the job run; its thread ends when it has begun."""
        try:
            connection = self._connected()
            connection.listen(job.id, hear)
            missing = set(self._lacking(connection, job))
            for file in job.files:
                if file.sha256 in missing:
                    missing.discard(file.sha256)
                    _bring(connection, file, lambda: job.id in self._cancelled)
            if job.id in self._cancelled:
                connection.tell(job.id, Ended("it was cancelled before it began", killed=True))
                return
            connection.ask("run", job=job_written(job))
        except CarrierError as error:
            hear(Lost(str(error), is_ours=isinstance(error, Unreadable)))
        except Exception as error:  # whatever it is, the sweep must not wait for ever
            hear(Lost(f"the way to it failed ({type(error).__name__}: {error})"))

    def _lacking(self, connection: Connection, job: HostJob) -> list[str]:
        """The sha256 of the files that the host needs; CarrierError for any other answer."""
        answer = connection.ask("lacks", files=files_written(job.files))
        if isinstance(answer, list) and all(isinstance(one, str) for one in answer):
            return answer
        raise CarrierError(
            f"{self._name} answered for its files with {answer!r:.40}, not a list of sha256",
            "install the same Graphlap there",
        )


def _bring(connection: Connection, file: HostFile, cancelled: Callable[[], bool]) -> None:
    """Send the file block by block; CarrierError."""
    for offset, data in blocks(file):
        if cancelled():
            return
        size = file.size_bytes
        connection.ask("keep", sha256=file.sha256, offset=offset, size_bytes=size, data=data)


def _once(hear: Hear) -> Hear:
    """Nothing is told after the last message."""
    lock, over = Lock(), False

    def told(message: Message) -> None:
        nonlocal over
        with lock:
            if over:
                return
            over = isinstance(message, Ended | Lost)
        hear(message)

    return told
