"""Every setting of the table, as a worker and a scheduler have it that were really started."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dask
import pytest
from distributed import Client, Scheduler, Worker

from app.remote.dask_cluster.protocol import (
    HEARTBEAT_S,
    RESOURCE,
    SCHEDULER,
    WORKER,
    as_environment,
    configuration,
)
from tests.app.remote.dask_cluster.cluster import Cluster
from tests.checkout import ROOT


@pytest.fixture
def asked(measured: Cluster) -> Iterator[Client]:
    """A client of a scheduler with one worker."""
    with Client(measured.address, set_as_default=False) as client:
        yield client


def test_a_worker_has_its_settings(asked: Client) -> None:
    names = [setting.name for setting in WORKER]
    (settings,) = asked.run(lambda: {name: dask.config.get(name) for name in names}).values()
    assert settings == configuration(WORKER)


def test_a_scheduler_has_its_settings(asked: Client) -> None:
    names = [setting.name for setting in SCHEDULER]
    settings = asked.run_on_scheduler(lambda: {name: dask.config.get(name) for name in names})
    assert settings == configuration(SCHEDULER)


def test_what_ticks_in_a_worker(asked: Client) -> None:
    """What the settings come to: nothing wakes it more often than once a second."""

    def look(dask_worker: Worker) -> dict[str, Any]:
        calls = {name: pc.callback_time for name, pc in dask_worker.periodic_callbacks.items()}
        return {
            "calls": calls,
            "threads": dask_worker.state.nthreads,
            "resources": dask_worker.state.total_resources,
            "nanny": dask_worker.nanny,
            "memory_limit": dask_worker.memory_manager.memory_limit,
            "gil": dask_worker.monitor.monitor_gil_contention,
        }

    (worker_state,) = asked.run(look).values()
    assert min(worker_state["calls"].values()) >= 1000.0, worker_state
    assert not {"profile", "memory_monitor"} & worker_state["calls"].keys()
    assert worker_state["calls"]["tick"] == 2000.0
    assert worker_state["calls"]["heartbeat"] == HEARTBEAT_S * 1000
    assert worker_state["threads"] == 1
    assert worker_state["resources"] == {RESOURCE: 1}
    assert worker_state["nanny"] is None
    assert worker_state["memory_limit"] is None
    assert not worker_state["gil"]


def test_nothing_is_stolen_or_moved(asked: Client) -> None:
    def look(dask_scheduler: Scheduler) -> list[bool]:
        moving: Any = dask_scheduler.extensions["amm"]
        return ["stealing" in dask_scheduler.extensions, moving.running]

    assert asked.run_on_scheduler(look) == [False, False]


def test_the_page_of_the_cluster_has_every_setting() -> None:
    page = (ROOT / "docs" / "cluster.md").read_text("utf-8")
    for setting in (*WORKER, *SCHEDULER):
        assert f"| `{setting.name}` | `{setting.value}` | {setting.otherwise} |" in page
    for variable, value in as_environment(SCHEDULER).items():
        assert f"{variable}={value}" in page, variable
