"""Time `run` of ONNX Runtime's session by hand, or by pyperf: `ort_loop.py [WORDS] WAY FILE`.

One thread, inputs drawn at random, 1 for every free size. `loop`, as engineers write it: 50 runs to
warm up, two seconds timed, their median printed [s]. `pyperf`: its `bench_func`, with its WORDS.
It imports no more than each needs, so that neither waits for what it does not use.
"""

from __future__ import annotations

import statistics
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from importlib import import_module

import numpy as np
import onnxruntime as ort

WARM_UP_RUNS, SECONDS = 50, 2.0


def session_call(file: str) -> Callable[[], object]:
    """A run of the model with the same inputs each time."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    inputs = {
        value.name: generator.random(
            [size if isinstance(size, int) else 1 for size in value.shape], dtype=np.float32
        )
        for value in session.get_inputs()
    }
    return lambda: session.run(None, inputs)


def by_hand(file: str) -> None:
    run = session_call(file)
    for _ in range(WARM_UP_RUNS):
        run()
    times_s = []
    end_s = time.perf_counter() + SECONDS
    while time.perf_counter() < end_s:
        start_s = time.perf_counter()
        run()
        times_s.append(time.perf_counter() - start_s)
    sys.stdout.write(f"{statistics.median(times_s)}\n")


def by_pyperf() -> None:
    def hand_on(command: list[str], options: Namespace) -> None:
        command.extend((options.way, options.file))

    runner = import_module("pyperf").Runner(add_cmdline_args=hand_on)
    runner.argparser.add_argument("way")
    runner.argparser.add_argument("file")
    options = runner.parse_args()
    # The parent only starts workers: it needs no session.
    runner.bench_func("run", session_call(options.file) if options.worker else int)


if __name__ == "__main__":
    if sys.argv[-2] == "loop":
        by_hand(sys.argv[-1])
    else:
        by_pyperf()
