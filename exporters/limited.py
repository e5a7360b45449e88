"""A computation in Python that ends at a time limit: the reference evaluator can take hours."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from threading import Thread
from typing import TypeVar

T = TypeVar("T")

EVALUATOR_LIMIT_S = 60.0
"""What ONNX's evaluator may take at a point for which there is another reference."""


class TooSlow(Exception):
    """The time limit ended the computation."""


class _Interrupted(BaseException):
    """Raised in the thread of a computation; no `except Exception` of a library stops it."""


def within(seconds: float, work: Callable[[], T]) -> T:
    """The result of `work`, or what it raises; TooSlow once it has taken `seconds`.

    It ends after the call into a library that it is in, so a single long one delays that.
    """
    results: list[T] = []
    faults: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as fault:
            faults.append(fault)

    thread = Thread(target=run, name="limited", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        thread_id = ctypes.c_ulong(thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread_id, ctypes.py_object(_Interrupted))
        thread.join()
    if results:
        return results[0]
    if isinstance(faults[0], _Interrupted):
        raise TooSlow(f"it took longer than {seconds:g} s")
    raise faults[0]
