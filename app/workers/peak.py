"""The process that measures the host's peaks: `python -m app.workers.peak THREADS [busy]`.

FLOP/s of a float32 matrix product and bytes/s of the STREAM triad over arrays of several sizes,
both by numpy: the matrix product by the BLAS that it comes with, whose threads the environment
must set before numpy loads.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.cases.jobs import Peak
from app.machine.host_peaks import kept_peak
from app.machine.placement import usable_cores
from exporters import install_layout
from exporters.codec import to_json

_PRODUCT_S, _TRIAD_S = 0.4, 0.15
_SIDE = 512
_IN_USE_BYTES = tuple(3 << power for power in (17, 19, 21, 23, 26))
"""Of the three arrays together, 384 KiB to 192 MiB: what fits a core's caches, and what none."""
_CHUNK = 2**14
"""The part that a thread works on at once stays in its first caches between the two passes."""
_MINIMUM_BYTES = 2**24
"""A small array is gone through again until so much was moved, so that the calls don't count."""
_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class HostPeaks:
    """`bytes_per_s` are (bytes in use, bytes in a second), the smallest first."""

    flops_per_s: float
    bytes_per_s: tuple[tuple[int, float], ...]
    how: str
    busy: bool = False

    def at(self, in_use_bytes: int) -> Peak:
        """What holds for work that touches so many bytes in all."""
        fitting = (pair for pair in self.bytes_per_s if pair[0] >= in_use_bytes)
        size, bytes_per_s = next(fitting, self.bytes_per_s[-1])
        return Peak(self.flops_per_s, bytes_per_s, size, self.how)


def peaks_of_host(threads: int, cache_dir: str) -> HostPeaks | None:
    """The peaks with so many threads (0: all cores), measured once and kept in a folder.

    What a busy machine gave is measured again when it is quiet. None where they can't be measured.
    """
    threads = threads or len(usable_cores())
    cache_file = (
        Path(cache_dir, f"peak-{socket.gethostname()}-{threads}.json") if cache_dir else None
    )
    environment = install_layout.child_environment() | dict.fromkeys(_BLAS_THREADS, str(threads))
    command = install_layout.command("app.workers.peak", str(threads))
    return kept_peak(HostPeaks, cache_file, command, environment)


def measure(threads: int, busy: bool) -> HostPeaks:
    """The best of what can be had in a short time: anything slower was disturbed."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]
    return HostPeaks(
        2.0 * _SIDE**3 / _best_s(_product(), _PRODUCT_S),
        tuple((size, _triad_bytes_per_s(size, threads)) for size in _IN_USE_BYTES),
        f"numpy {np.__version__}, threads {threads}: float32 product of {_SIDE} x {_SIDE} by "
        f"{blas}, triad" + (", on a busy machine" if busy else ""),
        busy,
    )


def _product() -> Callable[[], object]:
    left, right, result = (np.ones((_SIDE, _SIDE), np.float32) for _ in range(3))
    return lambda: np.matmul(left, right, out=result)


def _triad_bytes_per_s(in_use_bytes: int, threads: int) -> float:
    """a = b + 3 c, each thread on its part; numpy gives up the interpreter within each call."""
    count = in_use_bytes // 12
    a, b, c = (np.ones(count, np.float32) for _ in range(3))
    share, times = -(-count // threads), max(1, _MINIMUM_BYTES // in_use_bytes)

    def part(start: int) -> None:
        end = min(start + share, count)
        for _ in range(times):
            for begin in range(start, end, _CHUNK):
                chunk = slice(begin, min(begin + _CHUNK, end))
                np.multiply(c[chunk], np.float32(3.0), out=a[chunk])
                np.add(a[chunk], b[chunk], out=a[chunk])

    with ThreadPoolExecutor(threads) as pool:
        spent_s = _best_s(lambda: list(pool.map(part, range(0, count, share))), _TRIAD_S)
    return times * in_use_bytes / spent_s


def _best_s(call: Callable[[], object], for_s: float) -> float:
    call()
    best_s, end_s = np.inf, time.perf_counter() + for_s
    while time.perf_counter() < end_s:
        start_s = time.perf_counter()
        call()
        best_s = min(best_s, time.perf_counter() - start_s)
    return float(best_s)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(to_json(measure(int(sys.argv[1]), "busy" in sys.argv))) + "\n")
