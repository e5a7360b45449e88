"""A process that makes the checks of one runtime, one after another as it is asked.

`python -m tests.gpu.child RUNTIME FOLDER STAND_IN ANSWERS`: the number of a check comes in as a
line on standard input, and what came of it goes out as a line of JSON to the handle ANSWERS. The
first answer is whether the runtime is there. It ends after a check that raised an error: a GPU
that has failed once fails every later call of the process.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from runtimes import registry
from runtimes.base import Runtime, Unavailable
from runtimes.errors import NotAvailable, Unsupported
from tests.gpu.checks import tasks
from tests.gpu.device import CudaDevice, Device, NotRun
from tests.gpu.models import DEVICE_SIZES, Models, Sizes
from tests.gpu.stand_in import STAND_IN_SIZES, StandInDevice, StandInRuntime
from tests.gpu.subject import Subject


def main(arguments: list[str]) -> None:
    name, folder, stand_in, answers = arguments

    def answer(**values: Any) -> None:
        os.write(int(answers), (json.dumps(values) + "\n").encode())

    runtime: Runtime = StandInRuntime(StandInDevice(stand_in)) if stand_in else registry.load(name)
    state = runtime.availability()
    if isinstance(state, Unavailable):
        answer(verdict="not run", got=f"{state.reason}; {state.remedy}")
        return
    runtime.load()
    device, sizes = _device(runtime)
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


def _device(runtime: Runtime) -> tuple[Device, Sizes]:
    if isinstance(runtime, StandInRuntime):
        return runtime.device, STAND_IN_SIZES
    return CudaDevice(), DEVICE_SIZES


if __name__ == "__main__":
    main(sys.argv[1:])
