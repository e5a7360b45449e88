"""What modules of tests share: brief rounds, and networks that are exported once."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporters.messages import ExportRequest
from exporters.types import Precision
from tests.app.brief import brief_rounds
from tests.app.cli.headless.batch import run
from tests.exporters.support import WorkerProcess

NETWORKS: tuple[tuple[str, Precision, tuple[int, ...]], ...] = (
    ("cnn_tiny", "fp32", (1,)),
    ("dense_128_32", "fp32", (2,)),
    ("mlp", "fp32", (1, 64)),
    ("mlp", "bf16", (1,)),
    ("mlp", "int8", (1,)),
    ("reshape_1d", "fp32", (2,)),
    ("skip_add_2", "fp32", (1,)),
)
"""Name, precision and batch sizes of what the tests of sweeps measure of the catalogue."""


@pytest.fixture(scope="module")
def brief() -> Iterator[None]:
    """The runs that a module makes in this process are brief, those of its fixtures too."""
    with brief_rounds():
        yield


@pytest.fixture(scope="session")
def exported(cache: Path, worker: WorkerProcess) -> Path:
    """The cache of all processes with `NETWORKS` in it; a sweep would import torch for each."""
    with (cache.parent / "exported.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name, precision, sizes in NETWORKS:
            for size in sizes:
                request = ExportRequest(name, precision, ({"batch": size},))
                assert worker.ask(request).status == "ok", name
    return cache


@pytest.fixture(scope="session")
def measured_mlp(cache: Path) -> Path:
    """Two cases of two rounds each, by the batch mode, once for all processes; tests copy it."""
    path = cache.parent / "measured"
    options = ("--models", "mlp", "--runtimes", "fake", "--batch", "1,2", "--rounds", "2")
    with (cache.parent / "measured.lock").open("w") as lock, brief_rounds():
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            assert run("--headless", "--preset", "glance", *options, "--out", str(path))[0] == 0
    return path
