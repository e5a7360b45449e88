"""Which memory belongs to which cores, on machines of one node and of several."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.machine.placement import nodes_of, nodes_with_memory, usable_cores

NODES = "sys/devices/system/node"
TWO_SOCKETS = {"node0": "0-3,8-11\n", "node1": "4-7,12-15\n", "node2": "\n"}


@pytest.fixture
def two_sockets(tmp_path: Path) -> Path:
    for node, cores in TWO_SOCKETS.items():
        (tmp_path / NODES / node).mkdir(parents=True)
        (tmp_path / NODES / node / "cpulist").write_text(cores)
    (tmp_path / NODES / "has_memory").write_text("0-2\n")
    return tmp_path


def test_cores_of_two_sockets_are_told_apart(two_sockets: Path) -> None:
    assert nodes_of({2, 9}, two_sockets) == (0,)
    assert nodes_of({4}, two_sockets) == (1,)
    assert nodes_of({3, 12}, two_sockets) == (0, 1)
    assert nodes_with_memory(two_sockets) == (0, 1, 2)


def test_a_system_that_tells_no_nodes_has_none(tmp_path: Path) -> None:
    assert nodes_of({0}, tmp_path) == ()
    assert nodes_with_memory(tmp_path) == ()


BIND = """
import numpy as np
from pathlib import Path
from app.machine.placement import bind_memory
print(bind_memory({node}) or "bound")
drawn = np.ones(1 << 22)
print(any("bind:{node}" in line for line in Path("/proc/self/numa_maps").open()))
"""


def bound(node: int) -> list[str]:
    command = [sys.executable, "-c", BIND.format(node=node)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")


@pytest.mark.skipif(not Path("/proc/self/numa_maps").exists(), reason="no nodes are told here")
def test_memory_that_is_bound_lies_on_its_node_by_the_kernels_own_account() -> None:
    (node, *_) = nodes_of(usable_cores())
    why, lies_there, _ = bound(node)
    if "not permitted" in why:
        pytest.skip("a container may forbid it")
    assert (why, lies_there) == ("bound", "True")


@pytest.mark.skipif(not Path("/proc/self/numa_maps").exists(), reason="no nodes are told here")
def test_a_node_that_is_not_there_is_told_and_nothing_is_bound() -> None:
    why, lies_there, _ = bound(1000)
    assert why != "bound"
    assert lies_there == "False"
