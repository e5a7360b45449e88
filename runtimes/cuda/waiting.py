"""How the host waits for a GPU: a property of the context that all engines of a process share.

It is set before an engine makes that context, and read back when a session is there.
"""

from __future__ import annotations

from contextlib import suppress
from ctypes import byref, c_int, c_uint

from runtimes.cuda.driver import CudaError, device_of, library

_KINDS = 0x07
_BY_FLAG = {0: "auto", 1: "spin", 2: "yield", 4: "block"}
_FLAG = {name: flag for flag, name in _BY_FLAG.items()}


def wait_by(index: int, sync: str) -> None:
    """Have the context of a device wait so; `waits_by` finds a driver that does not let us."""
    kept = _flags(index) & ~_KINDS
    with suppress(CudaError):
        library().cuDevicePrimaryCtxSetFlags_v2(device_of(index), kept | _FLAG[sync])


def waits_by(index: int) -> str:
    """`spin`, `block`, `yield`, or `auto`, which spins while there are cores enough."""
    return _BY_FLAG.get(_flags(index) & _KINDS, "auto")


def _flags(index: int) -> int:
    flags, active = c_uint(), c_int()
    library().cuDevicePrimaryCtxGetState(device_of(index), byref(flags), byref(active))
    return flags.value
