"""The smallest network of each family of the zoo exports and runs at other batches.

The rest is the same code with more or wider layers; `make benchmarks` walks it.
"""

from __future__ import annotations

import csv
import re
from importlib.resources import files

import pytest

from tests.exporters.models.symbolic import assert_batch_is_symbolic_and_right
from tests.exporters.support import WorkerProcess

NETWORKS = {
    row["model"]: int(row["parameters_with_running_stats"])
    for row in csv.DictReader(
        files("assets").joinpath("published/gluon_zoo.csv").read_text("utf-8").splitlines()
    )
}
LARGEST = 30_000_000
SIZE = re.compile(r"\d+\.\d+|\d{2,}")
"""What tells a network from its family: of resnet18_v2 the 18."""


def smallest_of_each_family() -> list[str]:
    ascending = sorted(NETWORKS, key=NETWORKS.__getitem__)
    first = {SIZE.sub("", name): name for name in reversed(ascending)}
    return [name for name in ascending if name in first.values() and NETWORKS[name] < LARGEST]


def test_each_family_is_walked() -> None:
    assert {SIZE.sub("", name) for name in NETWORKS} == {
        "alexnet", "densenet", "inceptionv3", "mobilenet", "mobilenetv2_", "resnet_v1",
        "resnet_v2", "squeezenet", "vgg", "vgg_bn",
    }  # fmt: skip


DEEP = ("densenet", "inception", "mobilenetv2", "resnet18_v1", "resnet18_v2")
"""Families that take longest, up to half a minute each; the others stand for them."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.rare] if name.startswith(DEEP) else [])
        for name in smallest_of_each_family()
    ],
)
def test_the_network_exports_with_a_symbolic_batch(worker: WorkerProcess, name: str) -> None:
    assert_batch_is_symbolic_and_right(worker, name, batches=(2,))
