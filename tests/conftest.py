"""What holds for all tests: how values are drawn, one cache of exports, the order of tests."""

from __future__ import annotations

import gc
import os
import random
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

# Of children too: to start its threads is a fifth of what a measuring process takes to start, and
# they wait actively, so that on cores that others use a decomposition of a small matrix takes a
# hundred times as long.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from app.plan.configuration import NONE, VARIABLE
from tests.exporters.support import WorkerProcess

pytest_plugins = ("tests.draws",)


def pytest_configure() -> None:
    """Signals mean what they mean to a user, also where `nohup` or a shell's background job
    has them ignored: our children would inherit that. So they would a developer's configuration,
    which no test reads."""
    os.environ[VARIABLE] = NONE
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Importing all test files makes a million objects that stay: the garbage collector looks at
    none of them, neither meanwhile nor later, which is a sixth of the time that it takes."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for the processes on all cores, so that a graph is exported once."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    (folder / "exported").mkdir(exist_ok=True)
    return folder / "exported"


@pytest.fixture(scope="session")
def worker(cache: Path) -> Iterator[WorkerProcess]:
    """One export process for all tests, which imports torch once."""
    process = WorkerProcess(cache)
    yield process
    process.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shuffle",
        type=int,
        metavar="SEED",
        help="run the tests in a random order drawn from SEED: no test may depend on another",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest first, so that at the end no core waits for another; shuffled on request."""
    seed = config.getoption("--shuffle")
    if seed is not None:
        random.Random(seed).shuffle(items)
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
