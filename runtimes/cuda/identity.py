"""Which GPU a process computes on, in words that mean the same to every tool of the machine.

CUDA's numbers follow what a process may see and how fast devices are, the driver's tools those of
the bus: only a device's own identifier, and its place on the bus, are one for all.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from uuid import UUID

from runtimes.cuda.driver import CudaError, device_of, library

_UUID_BYTES = 16
_BUS_ID_BYTES = 32


def uuid_of(index: int) -> str:
    """Of a device, or of the part of one that a process was given; "" if nobody says."""
    raw = ctypes.create_string_buffer(_UUID_BYTES)
    try:
        library().cuDeviceGetUuid_v2(raw, device_of(index))
    except (OSError, CudaError):
        return ""
    return str(UUID(bytes=raw.raw))


def cores_near(index: int, root: Path = Path("/")) -> str:
    """The cores of the device's own node, as Linux lists them; "" where it does not tell."""
    text = ctypes.create_string_buffer(_BUS_ID_BYTES)
    try:
        library().cuDeviceGetPCIBusId(text, _BUS_ID_BYTES, device_of(index))
    except (OSError, CudaError):
        return ""
    bus = text.value.decode("ascii", "replace").lower()
    try:
        return (root / "sys/bus/pci/devices" / bus / "local_cpulist").read_text("ascii").strip()
    except OSError:
        return ""
