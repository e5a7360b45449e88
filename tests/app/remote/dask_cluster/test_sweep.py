"""Whole sweeps on workers of a scheduler: `--cluster`, as a user says it."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from subprocess import Popen

import psutil
import pytest

from app.remote.dask_cluster.transport import DaskCarrier
from app.runs.reader import read_run
from tests.app.headless.batch import rows, run
from tests.app.remote.dask_cluster.certificates import Certificates
from tests.app.remote.dask_cluster.cluster import Cluster, cluster
from tests.app.sweep.sweeps import write_add_graph

NAMES = ("one", "two", "three", "four")


@pytest.fixture(autouse=True)
def _one_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(cache))


def _sweep(folder: Path, address: str, *flags: str) -> tuple[int, str, str]:
    """One small graph on the scripted runtime."""
    graph = folder / "add.onnx"
    write_add_graph(graph)
    words = ["--headless", "--models", str(graph), "--runtimes", "fake", "--preset", "glance"]
    return run(*words, "--cluster", address, "--out", str(folder / "run"), *flags)


@pytest.mark.alone
def test_a_row_names_its_worker(measured: Cluster, tmp_path: Path) -> None:
    code, _, errors = _sweep(tmp_path, measured.address, "--rounds", "1")
    assert code == 0, errors
    (row,) = rows(tmp_path / "run")
    assert (row["status"], row["host"]) == ("ok", "alpha")


def test_nothing_is_written_where_no_scheduler_is(tmp_path: Path) -> None:
    code, _, errors = _sweep(tmp_path, "tcp://127.0.0.1:1")
    assert code == 2
    assert "no scheduler is at tcp://127.0.0.1:1" in errors
    assert not (tmp_path / "run").exists()


@pytest.mark.rare
@pytest.mark.alone
def test_four_workers_one_killed_and_one_cut_off(
    tmp_path: Path, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient = partial(DaskCarrier, silence_s=5.0)
    monkeypatch.setattr("app.remote.dask_cluster.transport.DaskCarrier", impatient)
    with cluster(tmp_path, certificates) as dask_cluster:
        workers = [dask_cluster.worker(name, "--machine", name) for name in NAMES]
        with _broken_while_they_measure(workers[:2]) as signals_sent:
            options = "fake.latency_us=50,60,70,80"
            code, _, errors = _sweep(
                tmp_path, dask_cluster.address, "--option", options, "--rounds", "3"
            )
    assert signals_sent == [signal.SIGKILL, signal.SIGSTOP]
    assert code == 0, errors
    told_rows = rows(tmp_path / "run")
    assert [row["status"] for row in told_rows] == ["ok"] * 4
    rounds = read_run(tmp_path / "run").rounds.values()
    assert Counter(map(len, rounds)) == {3: 4}
    assert {row["host"] for row in told_rows} <= {"three", "four"}
    assert sum(int(row["attempts"]) - 1 for row in told_rows) >= 2
    assert errors.count("was lost") >= 2


@contextmanager
def _broken_while_they_measure(
    workers: Sequence[Popen[bytes]],
) -> Iterator[list[signal.Signals]]:
    """The first is killed and the second stopped, each when a child of its is at work."""
    signals_sent: list[signal.Signals] = []
    stop_event = threading.Event()

    def watch() -> None:
        for worker, how in zip(workers, (signal.SIGKILL, signal.SIGSTOP), strict=True):
            process = psutil.Process(worker.pid)
            while not stop_event.is_set() and not process.children():
                time.sleep(0.02)
            time.sleep(0.5)
            worker.send_signal(how)
            signals_sent.append(how)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield signals_sent
    finally:
        stop_event.set()
        thread.join()
