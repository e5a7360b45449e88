"""One case over two GPUs: needs two, and says so where there are fewer."""

from __future__ import annotations

import numpy as np
import pytest

from app.contract.graphs import streamed
from exporters.types import ExportedModel
from runtimes.base import Runtime
from runtimes.cuda import runtime as libraries
from runtimes.options import Settings
from runtimes.session.session_group import compile_sessions
from tests.runtimes.graphs import Graphs
from tests.runtimes.stepped import bind_apart, run_all_at_once


@pytest.fixture(autouse=True)
def _two() -> None:
    gpu_devices = libraries.devices()
    if len(gpu_devices) < 2:
        pytest.skip(f"sessions are dealt over two GPUs, and this machine has {len(gpu_devices)}")


def test_each_device_computes_what_its_own_lane_was_fed(runtime: Runtime, graphs: Graphs) -> None:
    model: ExportedModel = graphs.step
    settings = Settings(device="0+1", options={"sessions": 4})
    with compile_sessions(runtime, model, {"batch": 1}, settings) as session:
        assert len(session.lanes) == 4
        inputs = bind_apart(session)
        for x, results in zip(inputs, run_all_at_once(session, 50), strict=True):
            assert np.allclose(results, streamed(x[None])[0], atol=1e-3)
        memory = session.memory()
    assert memory.device_peak_bytes is None or memory.device_peak_bytes > 0


def test_each_device_says_who_it_is(runtime: Runtime) -> None:
    uuids = {runtime.device_uuid(device) for device in runtime.devices_in("0+1")}
    assert len(uuids) == 2 and "" not in uuids
