"""Memory that is moved keeps what is in it, whatever other threads write, and leaves no process."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest

from app.cases.process_settings import MemoryKind
from app.machine.own_memory import anonymous_memory, memory_since
from app.workers.memory_places import MemoryPlaces
from runtimes.calls import move_pages

_MOVES = (sys.platform == "linux") and tuple(map(int, os.uname().release.split(".")[:2])) >= (5, 14)
pytestmark = pytest.mark.skipif(not _MOVES, reason="the system moves no pages")


def resident_pages() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1])


def test_what_is_moved_keeps_its_contents_while_another_thread_writes() -> None:
    values, counts, is_over = np.arange(1 << 20), np.zeros(4096, np.int64), threading.Event()

    def write() -> None:
        while not is_over.is_set():
            counts[:] += 1

    thread = threading.Thread(target=write)
    thread.start()
    parts = [(array.ctypes.data & -4096, array.ctypes.data + 4096 & -4096) for array in (counts,)]
    place = values.ctypes.data
    parts.append((place & -4096, place + values.nbytes & -4096))
    assert all(move_pages(parts, 1 << 30) for _ in range(20))
    is_over.set()
    thread.join()
    assert np.array_equal(values, np.arange(1 << 20))
    assert len(set(counts.tolist())) == 1, "no write was lost"


def test_what_was_never_written_takes_no_memory_and_too_much_is_left() -> None:
    before, pages = anonymous_memory(), resident_pages()
    with mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as room:
        room[:4096] = b"a" * 4096
        parts = memory_since(before)
        assert sum(end - begin for begin, end in parts) >= 64 << 20
        assert move_pages(parts, 32 << 20)
        assert resident_pages() < pages + 8192, "half of what was reserved"
        assert room[:4096] == b"a" * 4096
        assert not move_pages(parts, 0)


def test_what_is_moved_of_memory_that_has_gone_is_the_rest() -> None:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    with mmap.mmap(-1, 8 << 20, flags=flags) as gone, mmap.mmap(-1, 1 << 20, flags=flags) as kept:
        gone[:] = bytes(8 << 20)
        kept[:] = bytes(1 << 20)
        parts = memory_since({})
        gone.close()
        assert move_pages(parts, 1 << 30)
        assert kept[:] == bytes(1 << 20)


@pytest.mark.parametrize(
    ("kind", "used_bytes", "count"),
    [("small", 8 << 20, 3), ("small", 40 << 20, 1), ("huge", 8 << 20, 1)],
)
def test_a_process_has_another_place_after_some_time_but_not_if_it_uses_too_much(
    kind: MemoryKind, used_bytes: int, count: int
) -> None:
    places = MemoryPlaces(anonymous_memory(), kind)
    with mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as kept:
        kept[:] = bytes(64 << 20)
        for measured_s in (0.0, 0.02, 0.04, 0.04, 9.0):
            places.move_if_due(measured_s)
            assert kept[:used_bytes:4096] == bytes(used_bytes // 4096)
        assert places.count == count


def running_in(group: int) -> list[int]:
    """The processes of this group that are more than an entry of the system's table."""
    found = []
    for process in psutil.process_iter(["pid", "status"]):
        with suppress(ProcessLookupError):
            if process.info["status"] != psutil.STATUS_ZOMBIE and os.getpgid(process.pid) == group:
                found.append(process.pid)
    return found


_LOOP = """
import numpy as np
from runtimes.calls import move_pages
kept = np.ones(4 << 20)
part = (kept.ctypes.data & -4096, kept.ctypes.data + kept.nbytes & -4096)
print("ready", flush=True)
while move_pages([part], 1 << 30):
    pass
"""


def test_no_process_is_left_of_one_that_is_killed_while_it_moves() -> None:
    for number in range(5):
        command = [sys.executable, "-c", _LOOP]
        with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            time.sleep(0.05 + 0.013 * number)
            assert process.poll() is None
            process.send_signal(signal.SIGKILL)
        deadline_s = time.monotonic() + 10.0
        while running_in(process.pid):
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
