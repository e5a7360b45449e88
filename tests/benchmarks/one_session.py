"""Blocks of a C program's loop and of ours by turns, on one session in one process.

`one_session.py LIBRARY BUILD BLOCKS RUNS` reads an exported model as JSON from its input and
prints a line for each pair of blocks: the p50 of the C program's loop and of ours [ns].
"""

from __future__ import annotations

import ctypes as c
import gc
import json
import sys
from array import array
from collections.abc import Sequence

import numpy as np

from exporters.codec import from_json
from exporters.types import ExportedModel, axes_key, load_reference
from runtimes.calls.timed import Copy, TimedCalls
from runtimes.onnxruntime.c_api import RUN_WITH_BINDING
from runtimes.onnxruntime.native import BUILDS, Build, native
from runtimes.onnxruntime.runtime import OrtCpu
from runtimes.options import Settings

AXES = {"batch": 1}


def main(library: str, build: Build, blocks: int, runs: int) -> None:
    model = from_json(ExportedModel, json.loads(sys.stdin.read()), "model")
    settings = Settings(threads=1, options={"call": "c", "build": build})
    with OrtCpu().compile(model, AXES, settings) as session:
        (lane,) = session.lanes
        lane.bind(load_reference(model.references[axes_key(AXES)]).inputs)
        states = lane.advancing() or ()
        program = _Program(library, lane.calls[0].arguments, states, build)
        timed_calls = TimedCalls(lane.calls, states)
        times = [array("q", bytes(8 * runs)) for _ in range(3)]
        gc.freeze()
        gc.disable()
        for block in range(blocks + 1):
            theirs_ns, ours_ns = 0.0, 0.0
            for turn in (block, block + 1):
                if turn % 2:
                    theirs_ns = program.p50_ns(runs)
                else:
                    timed_calls.time(times[0], times[1], times[2], runs)
                    ours_ns = float(np.median(np.subtract(times[2], times[1])))
            if block:  # the first pair warms up
                sys.stdout.write(f"{theirs_ns} {ours_ns}\n")


class _Program:
    """`time_runs` of c_loop.c over a session that is open."""

    def __init__(
        self, library: str, handles: tuple[int, ...], copies: Sequence[Copy], build: Build
    ) -> None:
        self._time = c.CDLL(library).time_runs
        self._time.restype = None
        table = (c.c_void_p * (RUN_WITH_BINDING + 1))()
        table[RUN_WITH_BINDING] = native(build).run_address
        session, _, binding = handles
        targets = (c.c_void_p * len(copies))(*(copy.target.ctypes.data for copy in copies))
        source = (c.c_void_p * len(copies))(*(copy.source.ctypes.data for copy in copies))
        sizes = (c.c_size_t * len(copies))(*(copy.target.nbytes for copy in copies))
        pointers = (c.c_void_p(session), c.c_void_p(binding))
        self._arguments = (table, *pointers, targets, source, sizes, len(copies))

    def p50_ns(self, runs: int) -> float:
        latency = np.zeros(runs, np.int64)
        self._time(*self._arguments, c.c_long(runs), c.c_void_p(latency.ctypes.data))
        return float(np.median(latency))


if __name__ == "__main__":
    main(sys.argv[1], BUILDS[BUILDS.index(sys.argv[2])], int(sys.argv[3]), int(sys.argv[4]))
