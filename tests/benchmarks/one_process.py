"""Sides that share one process and its session: `one_process.py WAY BLOCKS RUNS [LIBRARY]`.

It reads an exported model as JSON from its input and prints a line of p50 [ns] for each block.
`loop`: the C loop of LIBRARY and our loop in C, by turns on one session. `builds`: a session alone,
beside a second of its build of ONNX Runtime, and beside one of the other build.
"""

from __future__ import annotations

import ctypes as c
import gc
import json
import os
import sys
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from threading import Barrier

import numpy as np

from app.machine.placement import usable_cores
from exporters.codec import from_json
from exporters.types import ExportedModel, axes_key, load_reference
from runtimes.base import Lane
from runtimes.calls import Copy, TimedCalls
from runtimes.onnxruntime.native import Build, native
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.options import Settings
from tests.benchmarks.measured import BATCH_1

Side = Callable[[], float]


def main(way: str, blocks: int, runs: int, library: str = "") -> None:
    model = from_json(ExportedModel, json.loads(sys.stdin.read()), "model")
    with ExitStack() as stack:
        if way == "loop":
            lane = _lane(stack, model, "library")
            states = lane.advancing() or ()
            times = [array("q", bytes(8 * runs)) for _ in range(3)]
            ours = partial(_ours_ns, TimedCalls(lane.calls, states), times, runs)
            sides: tuple[Side, ...] = (_theirs(library, lane, states, runs), ours)
        else:
            builds: tuple[Build, ...] = ("module", "module", "library")
            first, *others = (TimedCalls(_lane(stack, model, build).calls) for build in builds)
            lanes = ((first,), *((first, other) for other in others))
            sides = tuple(partial(_together_ns, one, runs) for one in lanes)
        gc.freeze()
        gc.disable()
        for block in range(blocks + 1):
            order = range(len(sides)) if block % 2 else range(len(sides) - 1, -1, -1)
            found = {place: sides[place]() for place in order}
            if block:  # the first warms up
                print(*(found[place] for place in range(len(sides))), flush=True)


def _lane(stack: ExitStack, model: ExportedModel, build: Build) -> Lane:
    settings = Settings(threads=1, options={"call": "c", "build": build})
    session = stack.enter_context(OrtCpu().compile(model, BATCH_1, settings))
    (lane,) = session.lanes
    lane.bind(load_reference(model.references[axes_key(BATCH_1)]).inputs)
    return lane


def _ours_ns(calls: TimedCalls, times: Sequence[array[int]], runs: int) -> float:
    calls.time(times[0], times[1], times[2], runs)
    return float(np.median(np.subtract(times[2], times[1])))


def _theirs(library: str, lane: Lane, copies: Sequence[Copy], runs: int) -> Side:
    """`time_runs` of c_loop.c over a session that is open."""
    time_runs = c.CDLL(library).time_runs
    time_runs.restype = None
    session, _, binding = lane.calls[0].arguments
    targets = (c.c_void_p * len(copies))(*(copy.target.ctypes.data for copy in copies))
    sources = (c.c_void_p * len(copies))(*(copy.source.ctypes.data for copy in copies))
    sizes = (c.c_size_t * len(copies))(*(copy.target.nbytes for copy in copies))
    addresses = (c.c_void_p(x) for x in (native("library").run_address, session, binding))
    arguments = (*addresses, targets, sources, sizes, len(copies), c.c_long(runs))
    latency = np.zeros(runs, np.int64)

    def p50_ns() -> float:
        time_runs(*arguments, c.c_void_p(latency.ctypes.data))
        return float(np.median(latency))

    return p50_ns


def _together_ns(lanes: Sequence[TimedCalls], runs: int) -> float:
    """The first half of the first lane's runs: the other lane is at work for all of them."""
    barrier, cores = Barrier(len(lanes)), sorted(usable_cores())
    times = [[array("q", bytes(8 * runs)) for _ in range(3)] for _ in lanes]

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
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
