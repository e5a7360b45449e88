"""C functions made from Python ones, as ONNX Runtime takes them: kept, and never raising."""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtimes.foreign import CType


class Callbacks:
    """Makes C functions and texts that live as long as this object, and gives their address.

    `status` turns an exception into the address of an OrtStatus.
    """

    def __init__(self, status: Callable[[BaseException], int]) -> None:
        self._status = status
        self._kept: list[object] = []

    def function(self, call: Callable[..., object], result: CType | None, *arguments: CType) -> int:
        """A C function that calls `call`, which must not raise."""
        made = c.CFUNCTYPE(result, *arguments)(call)
        self._kept.append(made)
        return c.cast(made, c.c_void_p).value or 0

    def checked(self, call: Callable[..., None], *arguments: CType) -> int:
        """A C function that returns an OrtStatus: null, or what `call` raised."""

        @wraps(call)
        def guarded(*values: object) -> int | None:
            try:
                call(*values)
            except BaseException as error:
                # Even an interrupt: C would go on as if the call had succeeded.
                return self._status(error)
            return None

        return self.function(guarded, c.c_void_p, *arguments)

    def text(self, value: bytes) -> int:
        """A C string; one that ctypes makes for a return value would be gone too soon."""
        buffer = c.create_string_buffer(value)
        self._kept.append(buffer)
        return c.addressof(buffer)
