"""A scheduler and workers as processes of their own on the loopback, with real certificates."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.app.sweep.remote.fleet.certificates import Certificates
from tests.checkout import ROOT

_WAIT_S = 60.0
_CONNECT = "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT"
"""How long the scheduler tries to reach a worker that was killed; half a minute by itself."""


@dataclass
class Cluster:
    """`worker` starts one; all end with the context that this came from."""

    folder: Path
    certificates: Certificates | None
    port: int
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"{'tls' if self.certificates else 'tcp'}://127.0.0.1:{self.port}"

    def worker(self, name: str) -> subprocess.Popen[bytes]:
        """`graphlap worker` with a cache of its own, when it has begun to measure."""
        words = ["app", "worker", self.address, "--name", name, "--machine", name]
        cache = {"GRAPHLAP_CACHE": str(self.folder / f"cache-{name}")}
        return self.start(name, words, cache, "Registered to:")

    def start(
        self, name: str, words: Sequence[str], environ: Mapping[str, str], says: str
    ) -> subprocess.Popen[bytes]:
        """A module of Python with the certificates, once it has said these words."""
        flags = self.certificates.flags() if self.certificates else []
        path = self.folder / f"{name}.log"
        with path.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *words, *flags],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.processes.append(process)
        deadline = time.monotonic() + _WAIT_S
        while says not in (log_text := path.read_text("utf-8", "replace")):
            assert time.monotonic() < deadline, f"{name} has not said {says!r}: {log_text}"
            time.sleep(0.02)
        return process


@contextmanager
def cluster(folder: Path, certificates: Certificates | None) -> Iterator[Cluster]:
    """A scheduler that is ready."""
    dask_cluster = Cluster(folder, certificates, _free_port())
    words = ["dask", "scheduler", "--dashboard-address", "127.0.0.1:0"]
    words += ["--host", dask_cluster.address.rpartition(":")[0], "--port", str(dask_cluster.port)]
    try:
        dask_cluster.start("scheduler", words, {_CONNECT: "3s"}, "Scheduler at:")
        yield dask_cluster
    finally:
        for process in dask_cluster.processes:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
