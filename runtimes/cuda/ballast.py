"""A GPU made smaller: all of its free memory but so much is held while something else runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from runtimes.cuda.driver import CudaError, Gpu
from runtimes.cuda.faults import compile_fault


@contextmanager
def leaving(index: int, limit_bytes: int) -> Iterator[None]:
    """Every engine then finds `limit_bytes` of the device free, as on a card of that size.

    What the context itself takes is not among them. OutOfMemory where the rest can't be held.
    """
    try:
        gpu = Gpu(index)
        surplus = gpu.free_bytes() - limit_bytes
        if surplus > 0:
            gpu.device_buffer(surplus)
    except CudaError as error:
        raise compile_fault(error) from error
    try:
        yield
    finally:
        gpu.close()
