"""Errors that a runtime may raise, each with the status of the row that it ends, and the messages
that mean too little memory.
"""

from __future__ import annotations

import re

from exporters.types import GraphlapError

_WORDS = re.compile(
    r"out[ _]?of[ _]?memory|bad_alloc|alloc_failed|CUDNN_STATUS_NOT_INITIALIZED|BFCArena"
    r"|(?:can't|cannot|could not|unable to|failed to) allocate",
    re.IGNORECASE,
)


def tells_of_no_memory(message: Exception | str) -> bool:
    """Whether it is memory, the host's or a device's, that was too small."""
    return isinstance(message, MemoryError) or bool(_WORDS.search(str(message)))


class RuntimeFault(GraphlapError):
    """Root of what a runtime may raise; `status` is the row's status."""

    status = "run_failed"


class Unsupported(RuntimeFault):
    """The runtime cannot take this case; `node` names the operator at fault, if one is."""

    status = "unsupported"

    def __init__(self, cause: str, remedy: str = "", node: str = "") -> None:
        super().__init__(cause, remedy)
        self.node = node


class OneShapeOnly(Unsupported):
    """The runtime has no session that serves several shapes."""


class NotAvailable(RuntimeFault):
    """The runtime, or the device asked for, is not on this machine."""

    status = "unavailable"


class CompileFault(RuntimeFault):
    """The engine refused the graph."""

    status = "compile_failed"


class RunFault(RuntimeFault):
    """The engine failed while running."""

    status = "run_failed"


class OutOfMemory(RuntimeFault):
    """The engine ran out of host or device memory."""

    status = "out_of_memory"
