"""Lists of cores as Linux writes them, and keeping to some of them for a while."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.machine.placement import as_list, cores_online, listed, on_cores, usable_cores

CORES = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no cores to choose here")


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


def test_neighbours_are_written_as_a_range() -> None:
    assert as_list([9, 0, 1, 2, 5, 6]) == "0-2,5-6,9"


def test_the_cores_of_another_machine_are_read(tmp_path: Path) -> None:
    file = tmp_path / "sys/devices/system/cpu/online"
    file.parent.mkdir(parents=True)
    file.write_text("0-2,4\n")
    assert cores_online(tmp_path) == {0, 1, 2, 4}
    assert usable_cores() <= cores_online()


@CORES
def test_what_is_started_on_cores_has_them_and_the_starter_its_own_again() -> None:
    cores, last = usable_cores(), max(usable_cores())
    with on_cores({last}):
        output = subprocess.check_output(
            ["grep", "Cpus_allowed_list", "/proc/self/status"], text=True
        )
    assert listed(output.split()[1]) == (last,)
    assert usable_cores() == cores
