"""Jobs on real workers of a real scheduler: what is told, and what is lost when one is killed."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.machine.child import Child
from app.remote.contract import SAMPLES, CarrierError, HostFile, Lost
from app.remote.dask_cluster.transport import DaskCarrier
from app.remote.running_job import scrubbed
from exporters.file_access import file_sha256
from tests.app.remote.dask_cluster.cluster import Cluster
from tests.app.remote.dask_cluster.jobs import Heard, job, samples
from tests.app.remote.dask_cluster.worker_process import CHILD

OF_LAUNCHERS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def workers(scheduler: Cluster) -> Cluster:
    """The cluster with a worker that was started as a nanny would start it."""
    scheduler.worker("alpha", environ=OF_LAUNCHERS)
    return scheduler


@pytest.fixture
def carrier(workers: Cluster) -> Iterator[DaskCarrier]:
    dask_carrier = DaskCarrier(workers.address, silence_s=3.0)
    yield dask_carrier
    dask_carrier.close()


def test_a_host_is_what_its_agent_tells(carrier: DaskCarrier) -> None:
    (host,) = carrier.doctor()
    assert host.name == "alpha"
    is_enabled = logging.getLogger("distributed.client").isEnabledFor(logging.ERROR)
    assert not is_enabled, "what matters is said by us, and once"
    assert host.cores == tuple(sorted(os.sched_getaffinity(0)))
    assert "ort-cpu" in host.runtimes
    assert carrier._hosts["alpha"].startswith("tls://")


def test_a_job_comes_back_whole_and_its_file_is_brought_once(
    carrier: DaskCarrier, tmp_path: Path
) -> None:
    path = tmp_path / "weights.txt"
    path.write_text("w" * 3_000_000)
    file = HostFile(file_sha256(path), path.stat().st_size, "net.weights", path)
    carrier.doctor()
    first = Heard()
    carrier.run("alpha", job("whole.0.0", blocks=40, files=(file,)), first)
    assert first.ended().how == "exit code 0"
    assert first.data() == samples(40)
    assert first.said("read")["text"] == path.read_text()
    path.unlink()  # the host has it by now
    second = Heard()
    carrier.run("alpha", job("whole.1.0", files=(file,)), second)
    assert second.ended().how == "exit code 0"


def test_the_end_of_a_job_cancels_nothing_of_the_next(
    carrier: DaskCarrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results are fetched slowly and messages arrive late, so that the order is always the same."""
    client, ask = carrier._link._client, carrier._link.ask
    fetch = client._gather_remote

    async def fetch_slowly(*arguments: Any) -> Any:
        await asyncio.sleep(1.0)
        return await fetch(*arguments)

    async def ask_slowly(worker: str, request: str, within_s: float, **values: Any) -> Any:
        answer = await ask(worker, request, within_s, **values)
        if request == "hear":
            await asyncio.sleep(0.5)
        return answer

    monkeypatch.setattr(client, "_gather_remote", fetch_slowly)
    monkeypatch.setattr(carrier._link, "ask", ask_slowly)
    carrier.doctor()
    for number in range(2):
        listener = Heard()
        carrier.run("alpha", job(f"after.{number}.0"), listener)
        assert listener.ended().how == "exit code 0"


def test_the_child_finds_what_a_local_one_finds(carrier: DaskCarrier, tmp_path: Path) -> None:
    """Neither a launcher's thread counts nor anything of Dask's reaches an engine."""
    carrier.doctor()
    listener = Heard()
    carrier.run("alpha", job("same.0.0"), listener)
    listener.ended()
    remote_start, local_start = listener.said("began"), _said_here(tmp_path)
    assert not remote_start["environ"].keys() & OF_LAUNCHERS.keys()
    cache_names = {"GRAPHLAP_CACHE", "GRAPHLAP_PARENT", "GRAPHLAP_PYTHONPATH"}
    for report in (remote_start, local_start):
        extra_names = [name for name in report["environ"] if name.startswith("PYTEST_")]
        for name in {*extra_names, *cache_names & report["environ"].keys()}:
            del report["environ"][name]
    # What a launcher may set is missing there even if the tests run with it set here.
    assert remote_start["environ"] == scrubbed(local_start["environ"])
    assert remote_start["cores"] == local_start["cores"]


def _said_here(folder: Path) -> dict[str, Any]:
    """What the same child says when a sweep of this machine starts it."""
    child = Child((sys.executable, str(CHILD)))
    job_line = job("here").line.replace(SAMPLES, str(folder / "samples"))
    child.send(job_line)
    lines: list[str] = []
    while not lines:
        lines = child.lines()
        time.sleep(0.01)
    child.close()
    message: dict[str, Any] = json.loads(lines[0])
    return message


def test_a_job_runs_once_however_often_it_is_handed_over(carrier: DaskCarrier) -> None:
    carrier.doctor()
    first, again = Heard(), Heard()
    carrier.run("alpha", job("twice.0.0"), first)
    assert first.ended().how == "exit code 0"
    carrier.run("alpha", job("twice.0.0"), again)
    assert "ran before" in again.lost().reason
    assert len(again.messages) == 1


def test_a_job_is_ended_when_it_is_asked_to(carrier: DaskCarrier) -> None:
    carrier.doctor()
    listener = Heard()
    carrier.run("alpha", job("cancelled.0.0", blocks=10_000, pause_s=0.01), listener)
    listener.said("began")
    carrier.cancel("alpha", "cancelled.0.0", "terminate")
    outcome = listener.ended()
    assert outcome.killed
    assert "SIGTERM" in outcome.how


def test_a_job_that_is_cancelled_while_its_files_are_brought_does_not_begin(
    workers: Cluster, carrier: DaskCarrier, tmp_path: Path
) -> None:
    """A model of gigabytes takes minutes on its way, and Ctrl-C is heard meanwhile."""
    path = tmp_path / "large.weights"
    path.write_bytes(os.urandom(1 << 20) * 300)
    file = HostFile(file_sha256(path), path.stat().st_size, path.name, path)
    carrier.doctor()
    listener = Heard()
    carrier.run("alpha", job("large.0.0", files=(file,)), listener)
    (agent_folder,) = (workers.folder / "cache-alpha" / "worker" / "agents").iterdir()
    deadline = time.monotonic() + 60.0
    while not [part for part in agent_folder.iterdir() if part.name != "lock"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    carrier.cancel("alpha", "large.0.0", "stop")
    assert listener.ended().killed
    assert not (agent_folder.parents[1] / "files" / file.sha256).exists()


def test_samples_come_while_the_round_runs(carrier: DaskCarrier) -> None:
    carrier.doctor()
    listener = Heard()
    carrier.run("alpha", job("streams.0.0", blocks=10_000, pause_s=0.01), listener)
    until_s = time.monotonic() + 30
    while not listener.data() and time.monotonic() < until_s:
        time.sleep(0.05)
    assert listener.data()
    assert not listener.over.is_set()
    carrier.cancel("alpha", "streams.0.0", "kill")
    listener.ended()


def test_jobs_of_one_worker_take_turns(carrier: DaskCarrier) -> None:
    """Whoever else uses the scheduler waits: a worker has one `measure`."""
    other = DaskCarrier(str(carrier._address), silence_s=3.0)
    try:
        for dask_carrier in (carrier, other):
            dask_carrier.doctor()
        first, second = Heard(), Heard()
        carrier.run("alpha", job("turn.0.0", blocks=10_000, pause_s=0.01), first)
        first.said("began")
        other.run("alpha", job("turn.1.0"), second)
        assert not second.any.wait(1.0)
        other.cancel("alpha", "turn.1.0", "kill")
        assert second.ended().killed  # it never began
        carrier.cancel("alpha", "turn.0.0", "kill")
        first.ended()
    finally:
        other.close()


def test_a_sweep_that_goes_takes_its_job_with_it(workers: Cluster) -> None:
    leaving = DaskCarrier(workers.address)
    leaving.doctor()
    listener = Heard()
    leaving.run("alpha", job("left.0.0", blocks=10_000, pause_s=0.01), listener)
    pid = listener.said("began")["pid"]
    leaving.close()
    leaving.close()
    assert listener.over.is_set()
    _until_gone(pid)


def test_a_worker_that_falls_silent_is_given_up(workers: Cluster, carrier: DaskCarrier) -> None:
    """Its connections stay open: only that nothing comes tells of it."""
    carrier.doctor()
    listener = Heard()
    carrier.run("alpha", job("silent.0.0", blocks=10_000, pause_s=0.01), listener)
    pid = listener.said("began")["pid"]
    workers.processes[-1].send_signal(signal.SIGSTOP)
    assert "no answer" in listener.lost().reason
    workers.processes[-1].send_signal(signal.SIGCONT)
    _until_gone(pid)  # what is given up does not go on measuring


def test_a_worker_that_is_killed_loses_its_job_once_and_takes_the_child_along(
    workers: Cluster, carrier: DaskCarrier
) -> None:
    """The last here, since the others have that worker too."""
    carrier.doctor()
    listener = Heard()
    carrier.run("alpha", job("killed.0.0", blocks=10_000, pause_s=0.01), listener)
    pid = listener.said("began")["pid"]
    workers.processes[-1].kill()
    assert "gone" in listener.lost().reason
    _until_gone(pid)
    assert [type(m) for m in listener.messages].count(Lost) == 1
    with pytest.raises(CarrierError, match="no worker that measures"):
        carrier.doctor()
    next_listener = Heard()
    carrier.run("alpha", job("killed.1.0"), next_listener)
    assert "no worker that measures" in next_listener.lost().reason


def _until_gone(pid: int) -> None:
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=30)
    assert not psutil.pid_exists(pid)
