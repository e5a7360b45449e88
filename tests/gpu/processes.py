"""The processes that make checks: one for each runtime, and the one that asks it.

`python -m tests.gpu.processes RUNTIME FOLDER STAND_IN ANSWERS` is a child: the number of a check
comes in as a line on standard input, and what came of it goes out as a line of JSON to the handle
ANSWERS. The first answer is whether the runtime is there. It ends after a check that raised an
error: a GPU that has failed once fails every later call of the process.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from runtimes import registry
from runtimes.base import Runtime, Unavailable
from runtimes.errors import NotAvailable, Unsupported
from runtimes.options import Settings
from tests.checkout import ROOT
from tests.gpu.checks import Task, tasks
from tests.gpu.models import DEVICE_SIZES, Models
from tests.gpu.results import START, Line, Record
from tests.gpu.stand_in import STAND_IN_SIZES, StandInDevice, StandInRuntime
from tests.gpu.subject import CudaDevice, Device, NotRun, Subject

START_LIMIT_S = 120.0
LEAST_S = 5.0
"""With less time left than this no further check begins."""
MOST_ENDS = 6
"""So many checks in a row that end their process are the last: each costs a start."""

Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the children work: `models` for the graphs, `logs` for what engines print.

    `stand_in` is the host stand-in to use, empty for the GPU. `limit_s` is for each check, None
    for its own in the table.
    """

    models: Path
    logs: Path
    stand_in: str = ""
    limit_s: float | None = None


class Ended(Exception):
    """The child ended, or was ended, instead of answering."""


class Child:
    """Leads a process group of its own, so that programs that it started end with it."""

    def __init__(self, runtime: str, place: Place, environment: Mapping[str, str | None]) -> None:
        self.environment = environment
        self._answers, answers = os.pipe()
        self._text = b""
        variables = {**os.environ, **environment}
        command = [sys.executable, "-m", "tests.gpu.processes", runtime, str(place.models)]
        log = (place.logs / f"{runtime}.log").open("ab")
        self._process = subprocess.Popen(
            [*command, place.stand_in, str(answers)],
            cwd=ROOT,
            env={name: value for name, value in variables.items() if value is not None},
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(answers,),
            start_new_session=True,
        )
        log.close()
        os.close(answers)

    def ask(self, number: int, limit_s: float) -> Answer:
        """What came of a check; Ended where nothing did."""
        requests = self._process.stdin
        assert requests is not None
        _send(requests, f"{number}\n")
        return self.answer(limit_s)

    def answer(self, limit_s: float) -> Answer:
        """The next answer; TimeoutError after the limit, and the child is ended then."""
        deadline = time.monotonic() + limit_s
        while b"\n" not in self._text:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not select.select([self._answers], [], [], left_s)[0]:
                self.close()
                raise TimeoutError
            part = os.read(self._answers, 2**16)
            if not part:
                code = self._process.wait()
                self.close()
                raise Ended(
                    f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
                )
            self._text += part
        line, _, self._text = self._text.partition(b"\n")
        return dict(json.loads(line))

    def close(self) -> None:
        if self._answers >= 0:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            if self._process.stdin is not None:
                with suppress(BrokenPipeError):
                    self._process.stdin.close()
            os.close(self._answers)
            self._answers = -1


def _send(requests: IO[bytes], text: str) -> None:
    with suppress(BrokenPipeError):  # why it ended is seen where the answer would be
        requests.write(text.encode())
        requests.flush()


class RuntimeChecks:
    """All checks of one runtime that have no verdict yet, until `deadline`."""

    def __init__(self, runtime: str, place: Place, record: Record, deadline: float) -> None:
        self._runtime, self._place, self._record = runtime, place, record
        self.deadline = deadline
        self._child: Child | None = None
        self._alone = False
        self._reason = ""
        self._ends = 0
        self._pending = [
            (number, task)
            for number, task in enumerate(tasks(runtime))
            if (runtime, *task.key) not in record.lines
        ]

    def start(self) -> bool:
        """Whether there are checks to make, and a process that can make the first of them."""
        if self._pending:
            self._prepare(self._pending[0][1])
        return self._child is not None

    def run(self) -> None:
        try:
            for number, task in self._pending:
                self._run(number, task)
        finally:
            self.close()

    def _run(self, number: int, task: Task) -> None:
        begin = time.monotonic()
        if not self._reason and begin + LEAST_S > self.deadline:
            self._reason = "no time left"
        if not self._reason:
            self._prepare(task)
        if self._reason or self._child is None:
            self._write(*task.key, {"verdict": "not run", "got": self._reason}, begin)
            return
        begin = time.monotonic()
        own_limit_s = self._place.limit_s or task.check.limit_s
        limit_s = min(own_limit_s, self.deadline - begin)
        answer: Answer
        try:
            answer = self._child.ask(number, limit_s)
            if "error" in answer:
                self.close()
        except Ended as end:
            answer = {"verdict": "fail", "got": f"the process ended ({end})"}
            self._child = None
        except TimeoutError:
            self._child = None
            if limit_s < own_limit_s:
                answer = {"verdict": "not run", "got": "no time left"}
            else:
                answer = {"verdict": "fail", "got": f"no answer in {limit_s:.0f} s"}
        self._write(*task.key, answer, begin)
        self._ends = 0 if self._child is not None else self._ends + 1
        if self._ends == MOST_ENDS:
            self._reason = f"the {MOST_ENDS} checks before it ended their processes"

    def _prepare(self, task: Task) -> None:
        """Have a child that may make this check, or a reason why there is none."""
        environment = self._environment(task)
        child, shares = self._child, not (self._alone or task.check.own_process)
        if child is not None and shares and child.environment == environment:
            return
        self.close()
        begin = time.monotonic()
        limit_s = min(START_LIMIT_S, self.deadline - begin)
        child = Child(self._runtime, self._place, environment)
        try:
            answer = child.answer(limit_s)
        except Ended as end:
            answer = {"verdict": "fail", "got": f"the process ended ({end})"}
        except TimeoutError:
            answer = {"verdict": "fail", "got": f"no answer in {limit_s:.0f} s"}
        if answer["verdict"] == "pass":
            self._child, self._alone = child, task.check.own_process
        else:
            child.close()
            self._reason = str(answer["got"])
        if answer["verdict"] != "pass" or (self._runtime, START, "") not in self._record.lines:
            self._write(START, "", answer, begin)

    def _environment(self, task: Task) -> Mapping[str, str | None]:
        if self._place.stand_in:
            return {}
        settings = Settings(options=dict(task.options))
        return dict(registry.load(self._runtime).environment(settings))

    def _write(self, check: str, options: str, answer: Answer, begin: float) -> None:
        seconds = f"{time.monotonic() - begin:.1f}"
        line = Line(
            self._runtime,
            check,
            options,
            answer["got"],
            answer.get("wanted", ""),
            answer["verdict"],
            seconds,
        )
        self._record.add(line)
        print(f"{line.verdict:8}{line.finding}", flush=True)

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None


def main(arguments: list[str]) -> None:
    name, folder, stand_in, answers = arguments

    def answer(**values: Any) -> None:
        os.write(int(answers), (json.dumps(values) + "\n").encode())

    simulated = StandInDevice(stand_in) if stand_in else None
    runtime: Runtime = StandInRuntime(simulated) if simulated else registry.load(name)
    state = runtime.availability()
    if isinstance(state, Unavailable):
        answer(verdict="not run", got=f"{state.reason}; {state.remedy}")
        return
    runtime.load()
    device: Device = simulated or CudaDevice()
    sizes = STAND_IN_SIZES if simulated else DEVICE_SIZES
    subject = Subject(runtime, device, Models(Path(folder), sizes), f"{folder}/cache")
    answer(verdict="pass", got=f"version {state.version} on {device.name}")
    task_list = tasks(name)
    for number in sys.stdin:
        task = task_list[int(number)]
        try:
            finding = task.check.measure(subject, task.options)
        except (NotRun, Unsupported, NotAvailable) as reason:
            subject.close()
            answer(verdict="not run", got=str(reason))
        except Exception as error:
            traceback.print_exc()
            answer(verdict="fail", got=f"{type(error).__name__}: {error}", error=True)
            # Closing what a failed GPU still holds may fail too, or never end.
            os._exit(1)
        else:
            verdict = "pass" if finding.passed else "fail"
            answer(verdict=verdict, got=finding.got, wanted=finding.wanted)
    subject.close()
    device.close()


if __name__ == "__main__":
    main(sys.argv[1:])
