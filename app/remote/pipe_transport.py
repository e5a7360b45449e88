"""Transport over pipes: agents started by commands, or on other machines by ssh."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as NoAnswer
from dataclasses import replace
from functools import partial
from itertools import count
from threading import Event, Lock, Thread
from typing import Any

from app.machine.environment import graphlap_version
from app.remote.contract import (
    PROTOCOL,
    CarrierError,
    Ended,
    Ending,
    Hear,
    Host,
    HostFile,
    HostJob,
    Lost,
    Message,
    Unreadable,
    blocks,
)
from app.remote.wire import (
    BEAT,
    BEAT_S,
    GREETING,
    SILENCE_S,
    Frames,
    files_written,
    frame_of,
    job_written,
    message_read,
    write_whole,
)
from exporters import install_layout
from exporters.codec import CodecError, from_json

GREETING_LIMIT_S, ANSWER_LIMIT_S = 30.0, 120.0
_READ_BYTES = 1 << 20
_SAID_KEPT_BYTES = 4096


class Connection:
    """Of use once `greeted` has returned, which another thread may end by `close`.

    `host` is what messages call it, `command` what starts the agent or leads to it. `lost` says why
    it is over, empty while it is not.
    """

    def __init__(self, host: str, command: Sequence[str], silence_s: float = SILENCE_S) -> None:
        self.host, self.lost = host, ""
        self._silence_s = silence_s
        self._numbers = count(1)
        self._answers: dict[int, Future[Any]] = {}
        self._jobs: dict[str, Hear] = {}
        self._lock, self._writing, self._end_event = Lock(), Lock(), Event()
        self._greeting: Future[dict[str, Any]] = Future()
        self._error_output = b""
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # Ctrl-C of our terminal is ours to handle
                env=install_layout.child_environment(),
            )
        except OSError as error:
            raise CarrierError(
                f"{command[0]} can't be started ({error.strerror})",
                "install it, or correct the path",
            ) from None
        self._threads = [Thread(target=target, daemon=True) for target in (self._hear, self._beat)]
        for thread in self._threads:
            thread.start()

    def greeted(self) -> None:
        """Wait for the agent; CarrierError if it does not greet, or speaks another protocol."""
        try:
            greeting = self._greeting.result(GREETING_LIMIT_S)
        except NoAnswer:
            self.close(f"no Graphlap answered within {GREETING_LIMIT_S:g} s")
            raise self._connection_error() from None
        if greeting.get("protocol") != PROTOCOL:
            remote_version = greeting.get(GREETING)
            self.close("it speaks another protocol")
            raise CarrierError(
                f"{self.host} has Graphlap {remote_version} and this machine has "
                f"{graphlap_version()}, which do not understand each other",
                "install the same on both",
            )

    def ask(self, operation: str, data: bytes = b"", **values: Any) -> Any:
        """The agent's answer; CarrierError for its refusal, and for none. `data` goes with it."""
        number, answer = next(self._numbers), Future[Any]()
        with self._lock:
            if self.lost:
                raise self._connection_error()
            self._answers[number] = answer
        self._send({"n": number, "ask": operation, **values}, data)
        try:
            return answer.result(ANSWER_LIMIT_S)
        except NoAnswer:
            raise CarrierError(
                f"{self.host} did not answer within {ANSWER_LIMIT_S:g} s", "see what it does"
            ) from None
        finally:
            with self._lock:
                self._answers.pop(number, None)

    def listen(self, job_id: str, hear: Hear) -> None:
        """Have what comes of a job told from now on, its last message once."""
        with self._lock:
            if not self.lost:
                self._jobs[job_id] = hear
                return
        hear(Lost(self.lost))

    def tell(self, job_id: str, message: Message) -> None:
        """Tell something of a job; nothing after its last message."""
        final = isinstance(message, Ended | Lost)
        with self._lock:
            hear = self._jobs.pop(job_id, None) if final else self._jobs.get(job_id)
        if hear is not None:
            hear(message)

    def cancel(self, job_id: str, how: str) -> None:
        """Ask for the end of a job, without waiting for an answer."""
        self._send({"n": 0, "ask": "cancel", "id": job_id, "how": how})

    def close(self, why: str = "it was let go") -> None:
        """End it and tell whoever waits; idempotent."""
        with self._lock:
            if self.lost:
                return
            self.lost = why
            answers, self._answers = list(self._answers.values()), {}
            jobs, self._jobs = self._jobs, {}
        self._end_event.set()
        self._end_process()
        for answer in answers:
            with contextlib.suppress(Exception):  # it was answered at this moment
                answer.set_exception(self._connection_error())
        if not self._greeting.done():
            self._greeting.set_exception(self._connection_error())
        for hear in jobs.values():
            hear(Lost(self.lost))

    def _end_process(self) -> None:
        """The end of its input lets an agent leave; one that does not hear is killed."""
        assert self._process.stdin
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _connection_error(self) -> CarrierError:
        return CarrierError(f"{self.host}: {self.lost}", "see that graphlap worker runs there")

    def _send(self, values: dict[str, Any], data: bytes = b"") -> None:
        assert self._process.stdin
        try:
            with self._writing:
                write_whole(self._process.stdin, *frame_of(values, data))
        except (OSError, ValueError):  # it is gone, or was closed at this moment: `_hear` says so
            return

    def _beat(self) -> None:
        while not self._end_event.wait(BEAT_S):
            self._send(BEAT)

    def _hear(self) -> None:
        """Everything that the process says, until its end or its silence; no caller waits on it."""
        out, err = self._process.stdout, self._process.stderr
        assert out
        assert err
        frames, why = Frames(), ""
        heard_s = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            selector.register(err, selectors.EVENT_READ)
            while not (why or self._end_event.is_set()):
                for key, _ in selector.select(BEAT_S):
                    data = os.read(key.fd, _READ_BYTES)
                    if key.fileobj is err:
                        self._error_output = (self._error_output + data)[-_SAID_KEPT_BYTES:]
                        if not data:
                            selector.unregister(err)
                        continue
                    if not data:
                        why = self._how_it_ended()
                        break
                    heard_s = time.monotonic()
                    why = self._take_all(frames.take(data))
                    if why:
                        break
                if time.monotonic() - heard_s > self._silence_s:
                    why = f"no answer for {self._silence_s:g} s"
        self.close(why)
        for pipe in (out, err):
            pipe.close()

    def _how_it_ended(self) -> str:
        """The end of its output came first; what it said of it and its exit code follow."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        assert self._process.stderr
        os.set_blocking(self._process.stderr.fileno(), False)
        with contextlib.suppress(OSError):
            self._error_output += os.read(self._process.stderr.fileno(), _SAID_KEPT_BYTES)
        code = self._process.returncode
        end_text = "the connection was closed"
        if code:
            end_text = f"its process ended with {f'signal {-code}' if code < 0 else f'code {code}'}"
        lines = [
            line.strip() for line in self._error_output.decode("utf-8", "replace").splitlines()
        ]
        last = next((line for line in reversed(lines) if line), "")
        return f"{end_text} ({last})" if last else end_text

    def _take_all(self, frames: Iterator[tuple[dict[str, Any], bytes]]) -> str:
        """Why nothing more can be understood, empty while it can."""
        try:
            for values, data in frames:
                self._take(values, data)
        except CarrierError as error:
            return error.cause
        except Exception as error:  # whatever it says, who waits for it must hear of its end
            return f"its output can't be parsed ({type(error).__name__}: {error})"
        return ""

    def _take(self, values: dict[str, Any], data: bytes) -> None:
        match values:
            case {"of": str(job_id)}:
                try:
                    message = message_read(values, data)
                except CarrierError as error:
                    message = Lost(error.cause)
                self.tell(job_id, message)
            case {"n": int(number)}:
                with self._lock:
                    answer = self._answers.pop(number, None)
                if answer is None:
                    return
                if "fault" in values:
                    fault = CarrierError(str(values["fault"]), str(values.get("remedy", "")))
                    answer.set_exception(fault)
                else:
                    answer.set_result(values.get("answer"))
            case {"graphlap_agent": _} if not self._greeting.done():
                self._greeting.set_result(values)


class PipedCarrier:
    """`commands` are by the names of the hosts, as rows are to call them."""

    def __init__(self, commands: Mapping[str, Sequence[str]], silence_s: float = SILENCE_S) -> None:
        self._hosts = {name: _Host(name, command, silence_s) for name, command in commands.items()}

    def doctor(self) -> tuple[Host, ...]:
        """All of them, asked at once; CarrierError names those that can't be reached."""
        with ThreadPoolExecutor(len(self._hosts)) as pool:
            futures = [pool.submit(host.doctor) for host in self._hosts.values()]
            try:
                wait(futures)
            except BaseException:  # Ctrl-C: those that wait for an answer end at once
                self.close()
                raise
        faults = [fault for future in futures if (fault := future.exception()) is not None]
        carrier_errors = [fault for fault in faults if isinstance(fault, CarrierError)]
        for fault in faults:
            if fault not in carrier_errors:
                raise fault
        if carrier_errors:
            raise CarrierError(
                "; ".join(fault.cause for fault in carrier_errors), carrier_errors[0].remedy
            )
        return tuple(future.result() for future in futures)

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
        self._cancelled_jobs: set[str] = set()
        self._killed_jobs: set[str] = set()
        self._is_closed = False

    def doctor(self) -> Host:
        answer = self._open_connection().ask("doctor")
        try:
            return replace(from_json(Host, answer), name=self._name)
        except CodecError as error:
            raise CarrierError(
                f"{self._name} sends what can't be parsed ({error})",
                "install the same Graphlap there",
            ) from None

    def run(self, job: HostJob, hear: Hear) -> None:
        Thread(target=self._begin, args=(job, _once(hear)), daemon=True).start()

    def cancel(self, job_id: str, how: Ending) -> None:
        with self._lock:
            self._cancelled_jobs.add(job_id)
            connection, is_disobeyed = self._connection, job_id in self._killed_jobs
            if how == "kill":
                self._killed_jobs.add(job_id)
        if connection is not None:
            # A host that takes nothing keeps who writes to it waiting, which the sweep must not.
            end = partial(connection.cancel, job_id, how)
            if is_disobeyed and how == "kill":
                end = partial(connection.close, "it did not end a job that was killed")
            Thread(target=end, daemon=True).start()

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            connection = self._connection
        if connection is not None:
            connection.close()

    def _open_connection(self) -> Connection:
        """The connection that there is, or a new one; CarrierError."""
        with self._connecting:
            with self._lock:
                known = self._connection
            if known is not None and not known.lost:
                return known
            found = Connection(self._name, self._command, self._silence_s)
            with self._lock:
                self._connection = found
                is_late = self._is_closed
            if is_late:
                found.close()
            found.greeted()
            return found

    def _begin(self, job: HostJob, hear: Hear) -> None:
        """Bring what the host lacks, then have the job run; its thread ends when it has begun."""
        try:
            connection = self._open_connection()
            connection.listen(job.id, hear)
            missing = set(self._lacking(connection, job))
            for file in job.files:
                if file.sha256 in missing:
                    missing.discard(file.sha256)
                    _bring(connection, file, lambda: job.id in self._cancelled_jobs)
            if job.id in self._cancelled_jobs:
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
        if isinstance(answer, list) and all(isinstance(item, str) for item in answer):
            return answer
        raise CarrierError(
            f"{self._name} answered for its files with {answer!r:.40}, not a list of sha256",
            "install the same Graphlap there",
        )


def _bring(connection: Connection, file: HostFile, is_cancelled: Callable[[], bool]) -> None:
    """Send the file block by block; CarrierError."""
    for offset, data in blocks(file):
        if is_cancelled():
            return
        size = file.size_bytes
        connection.ask("keep", sha256=file.sha256, offset=offset, size_bytes=size, data=data)


def _once(hear: Hear) -> Hear:
    """Nothing is told after the last message."""
    lock, is_over = Lock(), False

    def report_once(message: Message) -> None:
        nonlocal is_over
        with lock:
            if is_over:
                return
            is_over = isinstance(message, Ended | Lost)
        hear(message)

    return report_once


SCHEME = "ssh:"
COMMAND_VARIABLE = "GRAPHLAP_SSH_COMMAND"
_OPTIONS = ("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
_PROGRAM = "graphlap"
_HOST = re.compile(r"[A-Za-z0-9_\[][A-Za-z0-9._@:%\[\]-]*")
"""What can't be taken for an option of ssh's."""
_FORM = "write it as ssh:board1,pi@board2 or ssh:board1=/opt/graphlap/bin/graphlap"


def ssh_carrier(address: str) -> PipedCarrier:
    """A carrier to the hosts of `ssh:HOST[=PROGRAM],…`; CarrierError for what is no such address.

    `PROGRAM` is how Graphlap is called there, where `graphlap` is not enough.
    """
    host_parts = [word.strip().partition("=") for word in address.removeprefix(SCHEME).split(",")]
    hosts = [host for host, _, _ in host_parts]
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise CarrierError(f"{address!r:.80} names no host in {host!r:.40}", _FORM)
        if hosts.count(host) > 1:
            raise CarrierError(f"{address!r:.80} names {host} twice", "name it once")
    ssh = shlex.split(os.environ.get(COMMAND_VARIABLE, "")) or ["ssh"]
    names = _names(hosts)
    return PipedCarrier(
        {
            names[host]: (*ssh, *_OPTIONS, host, f"{program or _PROGRAM} worker --stdio")
            for host, _, program in host_parts
        }
    )


def _names(hosts: list[str]) -> dict[str, str]:
    """What rows call them: without the user, unless two users are of one host."""
    short = {host: host.rpartition("@")[2] for host in hosts}
    return {
        host: name if list(short.values()).count(name) == 1 else host
        for host, name in short.items()
    }
