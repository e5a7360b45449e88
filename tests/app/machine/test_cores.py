"""Cores and the memory that belongs to them, as Linux writes them."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.machine.placement import (
    as_list,
    cores_online,
    huge_pages_refusal,
    listed,
    nodes_of,
    nodes_with_memory,
    on_cores,
    usable_cores,
    with_huge_pages,
)
from tests.checkout import ROOT


@pytest.mark.parametrize(
    ("text", "cores"),
    [("2,3", (2, 3)), ("2-5", (2, 3, 4, 5)), (" 8, 0-1 \n", (0, 1, 8)), ("3,3,2-3", (2, 3))],
)
def test_a_list_is_read_as_linux_reads_it(text: str, cores: tuple[int, ...]) -> None:
    assert listed(text) == cores


@pytest.mark.parametrize("text", ["", ",", "2-", "-2", "5-2", "2;3", "0x1", "two", "12345", "٣"])
def test_what_is_no_list_is_refused_and_no_huge_one_is_built(text: str) -> None:
    with pytest.raises(ValueError, match="write it as 2,3 or 2-5"):
        listed(text)


@given(st.sets(st.integers(0, 300), min_size=1))
def test_a_list_that_is_written_says_the_same_cores(cores: set[int]) -> None:
    assert set(listed(as_list(cores))) == cores
    assert as_list([9, 0, 1, 2, 5, 6]) == "0-2,5-6,9"


def test_cores_and_sockets_of_another_machine_are_told_apart(tmp_path: Path) -> None:
    assert nodes_of({0}, tmp_path) == nodes_with_memory(tmp_path) == (), "a system tells none"
    nodes, cpus = tmp_path / "sys/devices/system/node", tmp_path / "sys/devices/system/cpu"
    cpus.mkdir(parents=True)
    (cpus / "online").write_text("0-2,4\n")
    for node, cores in (("node0", "0-3,8-11\n"), ("node1", "4-7,12-15\n"), ("node2", "\n")):
        (nodes / node).mkdir(parents=True)
        (nodes / node / "cpulist").write_text(cores)
    (nodes / "has_memory").write_text("0-2\n")
    assert cores_online(tmp_path) == {0, 1, 2, 4}
    assert usable_cores() <= cores_online()
    assert nodes_of({2, 9}, tmp_path) == (0,)
    assert nodes_of({4}, tmp_path) == (1,)
    assert nodes_of({3, 12}, tmp_path) == (0, 1)
    assert nodes_with_memory(tmp_path) == (0, 1, 2)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no cores to choose here")
def test_what_is_started_on_cores_has_them_and_the_starter_its_own_again() -> None:
    cores, last = usable_cores(), max(usable_cores())
    with on_cores({last}):
        output = subprocess.check_output(
            ["grep", "Cpus_allowed_list", "/proc/self/status"], text=True
        )
    assert listed(output.split()[1]) == (last,)
    assert usable_cores() == cores


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
    why, lies_there, _ = bound(1000)
    assert why != "bound" and lies_there == "False", "a node that is not there"
    (node, *_) = nodes_of(usable_cores())
    why, lies_there, _ = bound(node)
    if "not permitted" in why:
        pytest.skip("a container may forbid it")
    assert (why, lies_there) == ("bound", "True")


def test_huge_pages_take_a_kernel_that_has_them_and_keep_what_malloc_was_told(
    tmp_path: Path,
) -> None:
    state = tmp_path / "sys/kernel/mm/transparent_hugepage/enabled"
    state.parent.mkdir(parents=True)
    for text in ("always madvise [never]\n", "always [madvise] never\n"):
        state.write_text(text)
        refusal = huge_pages_refusal(tmp_path)
        assert bool(refusal) or "[madvise]" in text
    assert huge_pages_refusal(tmp_path / "none")
    own, tunable = "glibc.malloc.arena_max=2", "glibc.malloc.hugetlb=1"
    for before, start in ((own, f"{own}:{tunable}:"), ("", f"{tunable}:")):
        environ = with_huge_pages({"GLIBC_TUNABLES": before, "HOME": "/"})
        assert environ["GLIBC_TUNABLES"].startswith(start) and environ["HOME"] == "/"


COLLAPSES = (
    tuple(map(int, platform.release().split(".")[:2])) >= (6, 1) and not huge_pages_refusal()
)


@pytest.mark.skipif(not COLLAPSES, reason="the kernel moves no memory into huge pages on request")
def test_what_was_taken_since_is_moved_into_huge_pages() -> None:
    code = """
from app.machine.own_memory import *
held = bytearray(b"x") * (1 << 26)
for before in (anonymous_memory(), {}):
    collapse_memory(memory_since(before))
    print(huge_page_fraction())
"""
    usual = {**os.environ, "GLIBC_TUNABLES": ""}
    process = subprocess.run(
        [sys.executable, "-c", code], env=usual, cwd=ROOT, capture_output=True, check=True
    )
    first, second = map(float, process.stdout.split())
    state = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text("ascii")
    assert first < 0.1 or "[always]" in state
    assert second > 0.7


@pytest.mark.skipif(bool(huge_pages_refusal()), reason="the system has no huge pages for malloc")
def test_a_process_that_refuses_huge_pages_gets_no_more_of_them() -> None:
    code = """
import sys
from app.machine.own_memory import huge_page_fraction
from app.machine.placement import refuse_huge_pages
if sys.argv[1:]:
    refuse_huge_pages()
held = bytearray(b"x") * (1 << 26)
print(huge_page_fraction())
"""
    environ, fractions = with_huge_pages(os.environ), []
    for more in ((), ("refuse",)):
        command = [sys.executable, "-c", code, *more]
        process = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, check=True)
        fractions.append(float(process.stdout))
    assert fractions[0] > 0.7 and fractions[1] < 0.3
