"""The processes that make checks: those of one runtime, and the one that reads their answers.

`python -m tests.gpu.processes RUNTIME FOLDER STAND_IN ANSWERS NUMBERS` is a child: it makes the
checks of these numbers, and what came of each goes out as a line of JSON to the handle ANSWERS.
The first answer is whether the runtime is there. It ends after a check that raised an error: a GPU
that has failed once fails every later call of the process.
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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from runtimes import registry
from runtimes.base import Runtime, Unavailable
from runtimes.errors import NotAvailable, Unsupported
from runtimes.options import Settings
from tests.checkout import ROOT
from tests.gpu.checks import Task, tasks
from tests.gpu.models import DEVICE_SIZES, Models
from tests.gpu.results import START, Line, Record
from tests.gpu.stand_in import STAND_IN_SIZES, StandInDevice, StandInRuntime
from tests.gpu.subject import CudaDevice, NotRun, Subject

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

    def environment(self, runtime: str, task: Task) -> Mapping[str, str | None]:
        """The variables of a process that makes this check; None for one that must not be set."""
        if self.stand_in:
            return {}
        return dict(registry.load(runtime).environment(Settings(options=dict(task.options))))


class Child:
    """Leads a process group of its own, so that programs that it started end with it."""

    def __init__(self, runtime: str, place: Place, group: Sequence[tuple[int, Task]]) -> None:
        self._answers, answers = os.pipe()
        self._text = b""
        variables = {**os.environ, **place.environment(runtime, group[0][1])}
        numbers = ",".join(str(number) for number, _ in group)
        command = [sys.executable, "-m", "tests.gpu.processes", runtime, str(place.models)]
        with (place.logs / f"{runtime}.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, place.stand_in, str(answers), numbers],
                cwd=ROOT,
                env={name: value for name, value in variables.items() if value is not None},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(answers,),
                start_new_session=True,
            )
        os.close(answers)

    def answer(self, limit_s: float) -> Answer:
        """The next answer; one that says `over` where the child ended, or is over the limit."""
        deadline = time.monotonic() + limit_s
        while b"\n" not in self._text:
            left_s = max(deadline - time.monotonic(), 0)
            if not select.select([self._answers], [], [], left_s)[0]:
                return {"verdict": "fail", "got": f"no answer in {limit_s:.0f} s", "over": "time"}
            part = os.read(self._answers, 2**16)
            if not part:
                code = self._process.wait()
                end = f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
                return {"verdict": "fail", "got": f"the process ended ({end})", "over": "process"}
            self._text += part
        line, _, self._text = self._text.partition(b"\n")
        return dict(json.loads(line))

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._answers)


class RuntimeChecks:
    """All checks of one runtime that have no verdict yet, until `deadline`."""

    def __init__(self, runtime: str, place: Place, record: Record, deadline: float) -> None:
        self._runtime, self._place, self._record = runtime, place, record
        self._deadline = deadline
        self._reason = ""
        self._ends = 0
        self._pending = [
            (number, task)
            for number, task in enumerate(tasks(runtime))
            if not record.has_verdict((runtime, *task.key))
        ]

    def run(self) -> None:
        while self._pending and self._has_time():
            child = Child(self._runtime, self._place, group := self._group())
            try:
                self._make(child, group)
            finally:
                child.close()
        for _, task in self._pending:
            self._write(*task.key, {"verdict": "not run", "got": self._reason})

    def _group(self) -> list[tuple[int, Task]]:
        """The next checks that can share a process."""
        first = self._pending[0][1]
        if first.check.own_process:
            return self._pending[:1]
        variables = self._place.environment(self._runtime, first)

        def can_share(entry: tuple[int, Task]) -> bool:
            task = entry[1]
            shares = not task.check.own_process
            return shares and self._place.environment(self._runtime, task) == variables

        return list(takewhile(can_share, self._pending))

    def _make(self, child: Child, group: Sequence[tuple[int, Task]]) -> None:
        begin = time.monotonic()
        start = child.answer(min(START_LIMIT_S, self._deadline - begin))
        passes = start["verdict"] == "pass"
        if not (passes and self._record.has_verdict((self._runtime, START, ""))):
            self._write(START, "", start, begin)
        if not passes:
            self._reason = str(start["got"])
        for _, task in group:
            if not self._has_time():
                return
            begin = time.monotonic()
            own_limit_s = self._place.limit_s or task.check.limit_s
            limit_s = min(own_limit_s, self._deadline - begin)
            answer = child.answer(limit_s)
            if answer.get("over") == "time" and limit_s < own_limit_s:
                answer = {"verdict": "not run", "got": "no time left", "over": "time"}
            self._write(*task.key, answer, begin)
            del self._pending[0]
            if "over" in answer:
                self._ends += 1
                if self._ends == MOST_ENDS:
                    self._reason = f"the {MOST_ENDS} checks before it ended their processes"
                return
            self._ends = 0

    def _has_time(self) -> bool:
        if not self._reason and time.monotonic() + LEAST_S > self._deadline:
            self._reason = "no time left"
        return not self._reason

    def _write(self, check: str, options: str, answer: Answer, begin: float | None = None) -> None:
        seconds = "0.0" if begin is None else f"{time.monotonic() - begin:.1f}"
        got, wanted, verdict = answer["got"], answer.get("wanted", ""), answer["verdict"]
        line = Line(self._runtime, check, options, got, wanted, verdict, seconds)
        self._record.add(line)
        print(f"{line.verdict:8}{line.finding}", flush=True)


def main(name: str, folder: str, stand_in: str, answers: str, numbers: str) -> None:
    def answer(**values: Any) -> None:
        os.write(int(answers), (json.dumps(values) + "\n").encode())

    simulated = StandInDevice(stand_in) if stand_in else None
    runtime: Runtime = StandInRuntime(simulated) if simulated else registry.load(name)
    state = runtime.availability()
    if isinstance(state, Unavailable):
        answer(verdict="not run", got=f"{state.reason}; {state.remedy}")
        return
    runtime.load()
    device = simulated or CudaDevice()
    sizes = STAND_IN_SIZES if simulated else DEVICE_SIZES
    subject = Subject(runtime, device, Models(Path(folder), sizes), f"{folder}/cache")
    answer(verdict="pass", got=f"version {state.version} on {device.name}")
    task_list = tasks(name)
    for number in numbers.split(","):
        task = task_list[int(number)]
        try:
            finding = task.check.measure(subject, task.options)
        except (NotRun, Unsupported, NotAvailable) as reason:
            subject.close()
            answer(verdict="not run", got=str(reason))
        except Exception as error:
            traceback.print_exc()
            answer(verdict="fail", got=f"{type(error).__name__}: {error}", over="process")
            # Closing what a failed GPU still holds may fail too, or never end.
            os._exit(1)
        else:
            verdict = "pass" if finding.passed else "fail"
            answer(verdict=verdict, got=finding.got, wanted=finding.wanted)
    subject.close()
    device.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
