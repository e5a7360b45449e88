"""One agent on the pipes of one process: requests and answers, what comes of its jobs, its loss.

A thread hears the process and knows by its silence that the way to the agent was cut; another
beats, so that the agent knows the same of us.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswer
from itertools import count
from threading import Event, Lock, Thread
from typing import Any

from app.carriers.contract import PROTOCOL, CarrierError, Ended, Hear, Lost, Message
from app.carriers.wire import (
    BEAT,
    BEAT_S,
    GREETING,
    SILENCE_S,
    Frames,
    frame_of,
    message_read,
    write_whole,
)
from app.machine.environment import graphlap_version
from exporters import own

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
        self._lock, self._writing, self._over = Lock(), Lock(), Event()
        self._greeting: Future[dict[str, Any]] = Future()
        self._said = b""
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # Ctrl-C of our terminal is ours to handle
                env=own.child_environment(),
            )
        except OSError as error:
            raise CarrierError(
                f"{command[0]} can't be started ({error.strerror})",
                "install it, or correct the path",
            ) from None
        self._threads = [Thread(target=one, daemon=True) for one in (self._hear, self._beat)]
        for thread in self._threads:
            thread.start()

    def greeted(self) -> None:
        """Wait for the agent; CarrierError if it does not greet, or speaks another protocol."""
        try:
            greeting = self._greeting.result(GREETING_LIMIT_S)
        except NoAnswer:
            self.close(f"no Graphlap answered within {GREETING_LIMIT_S:g} s")
            raise self._gone() from None
        if greeting.get("protocol") != PROTOCOL:
            there = greeting.get(GREETING)
            self.close("it speaks another protocol")
            raise CarrierError(
                f"{self.host} has Graphlap {there} and this machine has {graphlap_version()}, "
                "which do not understand each other",
                "install the same on both",
            )

    def ask(self, what: str, data: bytes = b"", **values: Any) -> Any:
        """The agent's answer; CarrierError for its refusal, and for none. `data` goes with it."""
        number, answer = next(self._numbers), Future[Any]()
        with self._lock:
            if self.lost:
                raise self._gone()
            self._answers[number] = answer
        self._send({"n": number, "ask": what, **values}, data)
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
        self._over.set()
        self._end_process()
        for answer in answers:
            with contextlib.suppress(Exception):  # it was answered at this moment
                answer.set_exception(self._gone())
        if not self._greeting.done():
            self._greeting.set_exception(self._gone())
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

    def _gone(self) -> CarrierError:
        return CarrierError(f"{self.host}: {self.lost}", "see that graphlap worker runs there")

    def _send(self, values: dict[str, Any], data: bytes = b"") -> None:
        assert self._process.stdin
        try:
            with self._writing:
                write_whole(self._process.stdin, *frame_of(values, data))
        except (OSError, ValueError):  # it is gone, or was closed at this moment: `_hear` says so
            return

    def _beat(self) -> None:
        while not self._over.wait(BEAT_S):
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
            while not (why or self._over.is_set()):
                for key, _ in selector.select(BEAT_S):
                    data = os.read(key.fd, _READ_BYTES)
                    if key.fileobj is err:
                        self._said = (self._said + data)[-_SAID_KEPT_BYTES:]
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
            self._said += os.read(self._process.stderr.fileno(), _SAID_KEPT_BYTES)
        code = self._process.returncode
        ended = "the connection was closed"
        if code:
            ended = f"its process ended with {f'signal {-code}' if code < 0 else f'code {code}'}"
        lines = [line.strip() for line in self._said.decode("utf-8", "replace").splitlines()]
        last = next((line for line in reversed(lines) if line), "")
        return f"{ended} ({last})" if last else ended

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
