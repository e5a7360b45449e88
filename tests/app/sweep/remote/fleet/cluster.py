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

    def worker(
        self, name: str, *arguments: str, environ: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """`graphlap worker` with a cache of its own, when it has begun to measure."""
        flags = self.certificates.flags() if self.certificates else []
        words = ["-m", "app", "worker", self.address, "--name", name]
        command = [sys.executable, *words, "--machine", name, *flags, *arguments]
        variables = {"GRAPHLAP_CACHE": str(self.folder / f"cache-{name}"), **(environ or {})}
        process = self.start(command, variables, name)
        self.until_says(name, "Registered to:")
        return process

    def start(
        self, command: Sequence[str], environ: Mapping[str, str], name: str
    ) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def until_says(self, name: str, words: str) -> str:
        """What the process of this name has written once the words are in it."""
        deadline = time.monotonic() + _WAIT_S
        while time.monotonic() < deadline:
            log_text = (self.folder / f"{name}.log").read_text("utf-8", "replace")
            if words in log_text:
                return log_text
            time.sleep(0.02)
        raise AssertionError(f"{name} has not said {words!r}: {log_text}")


@contextmanager
def cluster(folder: Path, certificates: Certificates | None) -> Iterator[Cluster]:
    """A scheduler that is ready."""
    dask_cluster = Cluster(folder, certificates, _free_port())
    flags = certificates.flags() if certificates else []
    command = [*(sys.executable, "-m", "dask"), "scheduler", "--dashboard-address", "127.0.0.1:0"]
    command += [
        "--host",
        dask_cluster.address.rpartition(":")[0],
        "--port",
        str(dask_cluster.port),
        *flags,
    ]
    try:
        dask_cluster.start(command, {_CONNECT: "3s"}, "scheduler")
        dask_cluster.until_says("scheduler", "Scheduler at:")
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
