"""Every network of fewer than 30 million parameters exports and runs at other batches.

The rest is the same code with more layers; `make benchmarks` walks it.
"""

from __future__ import annotations

import csv
from importlib.resources import files

import pytest

from tests.exporters.blocks.symbolic import assert_batch_is_symbolic_and_right
from tests.exporters.support import WorkerProcess

LARGEST_WALKED = 30_000_000

WALKED = [
    row["model"]
    for row in csv.DictReader(
        files("assets").joinpath("published/gluon_zoo.csv").read_text("utf-8").splitlines()
    )
    if int(row["parameters_with_running_stats"]) < LARGEST_WALKED
]


@pytest.mark.parametrize("name", WALKED)
def test_the_network_exports_with_a_symbolic_batch(worker: WorkerProcess, name: str) -> None:
    assert_batch_is_symbolic_and_right(worker, name, batches=(2,))
