"""NVTX ranges: names for stretches of time, which Nsight Systems shows with the GPU's work.

They are made only under a profiler that listens: it names its library in the environment. Called
through NVIDIA's own library, which forwards to it.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache

from runtimes.cuda.runtime import open_first

LISTENER = "NVTX_INJECTION64_PATH"
"""What a profiler sets in the processes that it starts."""
SONAMES = ("libnvToolsExt.so.1", "libnvtx3interop.so.1", "libnvtx3interop.so")
"""Of the CUDA toolkit up to 12, and of the packages since."""


def is_listened_to() -> bool:
    return bool(os.environ.get(LISTENER))


def begin(name: str) -> None:
    """Open a range within those that this thread has open; nothing without a profiler."""
    if (library := _library()) is not None:
        library.nvtxRangePushA(name.encode())


def end() -> None:
    """Close the range that was opened last."""
    if (library := _library()) is not None:
        library.nvtxRangePop()


def is_missing() -> bool:
    """Whether a profiler listens, and NVIDIA's library is not installed."""
    return is_listened_to() and _library() is None


@cache
def _library() -> ctypes.CDLL | None:
    return open_first(SONAMES) if is_listened_to() else None
