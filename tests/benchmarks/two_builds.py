"""What two sessions of one process share: two of one build of ONNX Runtime, one of each build.

`two_builds.py BLOCKS RUNS` reads an exported model as JSON from its input and prints a line for
each turn: the p50 [ns] of a session alone, beside a second of its build, beside one of the other.
"""

from __future__ import annotations

import json
import os
import sys
from array import array
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Barrier

import numpy as np

from app.machine.placement import usable_cores
from exporters.codec import from_json
from exporters.types import ExportedModel, axes_key, load_reference
from runtimes.calls.timed import TimedCalls
from runtimes.onnxruntime.native import Build
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.options import Settings

AXES = {"batch": 1}


def main(blocks: int, runs: int) -> None:
    model = from_json(ExportedModel, json.loads(sys.stdin.read()), "model")
    with ExitStack() as stack:
        first, second, other = (_calls(stack, model, build) for build in _BUILDS)
        for block in range(blocks + 1):
            sides = (_p50_ns((first,), runs), *(_p50_ns((first, x), runs) for x in (second, other)))
            if block:  # the first turn warms up
                sys.stdout.write(" ".join(map(str, sides)) + "\n")


_BUILDS: tuple[Build, ...] = ("module", "module", "library")


def _calls(stack: ExitStack, model: ExportedModel, build: Build) -> TimedCalls:
    settings = Settings(threads=1, options={"call": "c", "build": build})
    session = stack.enter_context(OrtCpu().compile(model, AXES, settings))
    (lane,) = session.lanes
    lane.bind(load_reference(model.references[axes_key(AXES)]).inputs)
    return TimedCalls(lane.calls)


def _p50_ns(lanes: tuple[TimedCalls, ...], runs: int) -> float:
    """The first half of the first lane's runs: the other lane is at work for all of them."""
    barrier = Barrier(len(lanes))
    times = [[array("q", bytes(8 * runs)) for _ in range(3)] for _ in lanes]

    cores = sorted(usable_cores())

    def run(index: int) -> None:
        os.sched_setaffinity(0, {cores[index]})
        barrier.wait()
        schedule_ns, start_ns, finish_ns = times[index]
        lanes[index].time(schedule_ns, start_ns, finish_ns, runs)

    with ThreadPoolExecutor(len(lanes)) as pool:
        list(pool.map(run, range(len(lanes))))
    _, begin_ns, end_ns = times[0]
    return float(np.median(np.subtract(end_ns, begin_ns)[: runs // 2]))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
