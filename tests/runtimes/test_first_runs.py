"""An engine that records the first run of each thread has the device for itself meanwhile."""

from __future__ import annotations

import threading
import time
from ctypes import byref, c_void_p

import pytest

from app.workers.loop import LaneThreads
from runtimes.base import Lane
from runtimes.cuda.driver import CudaError, Gpu
from runtimes.session.host import HostLane
from tests.runtimes.stand_ins.fixtures import Driver

GLOBAL = 0
LANES = 4


class RecordingLane(HostLane):
    """As ONNX Runtime's CUDA provider with a graph: the first run of a thread makes what it needs
    on the device and records, so that whatever other threads allocate would end the recording.

    Each takes longer than the one before, so that those which end early allocate meanwhile."""

    def __init__(self, gpu: Gpu, alone: bool, number: int) -> None:
        super().__init__({}, {}, ())
        self._gpu, self.first_run_alone, self._takes_s = gpu, alone, 0.03 * (number + 1)
        self._stream, self._recording = gpu.stream(), threading.local()
        self.run = self._run

    def enter(self) -> None:
        self._gpu.make_current()

    def _run(self) -> None:
        if hasattr(self._recording, "graph"):
            return
        graph = c_void_p()
        self._gpu._c.cuStreamBeginCapture_v2(self._stream, GLOBAL)
        time.sleep(self._takes_s)
        self._gpu._c.cuStreamEndCapture(self._stream, byref(graph))
        self._gpu.device_buffer(64)
        self._recording.graph = graph


def run_together(lanes: list[Lane], runs: int = 3) -> None:
    with LaneThreads(lanes) as crew:
        for _ in range(runs):
            crew.run_all(lambda number: lanes[number].run())


def test_first_runs_are_made_one_after_another(gpu: Gpu) -> None:
    run_together([RecordingLane(gpu, True, number) for number in range(LANES)])


def test_without_that_they_end_one_anothers_recording(gpu: Gpu) -> None:
    with pytest.raises(CudaError, match="error 90"):
        run_together([RecordingLane(gpu, False, number) for number in range(LANES)])


def test_a_lane_that_cannot_make_its_first_run_is_told_of(gpu: Gpu, driver: Driver) -> None:
    lanes = [RecordingLane(gpu, True, number) for number in range(LANES)]
    driver.memory(0)
    with pytest.raises(CudaError, match="out of memory"), LaneThreads(lanes):
        raise AssertionError("no block is begun")
