"""GPU code in a shared library: a reduction to the code that one GPU architecture runs.

nvcc stores the code of all architectures in the ELF section `.nv_fatbin`: containers, each with one
entry for every architecture that a source file was compiled for. The payloads of entries that the
architecture cannot run are overwritten with zeros, which compress to nothing. Headers, sizes and
addresses stay, so the loader and the CUDA runtime find what they expect.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from runtimes.cuda.elf import sections, unpack

SECTIONS = ("__nv_relfatbin", ".nv_fatbin")
_CONTAINER = struct.Struct("<IHHQ")
"""Magic number, version, size of this header, size of the entries behind it."""
_MAGIC = 0xBA55ED50
_ENTRY = struct.Struct("<HHIQ12xI")
"""Kind, version, size of this header, size of the payload, and the architecture at byte 28."""
PTX, CUBIN = 1, 2


class NotReadable(ValueError):
    """The section has another layout than this module knows."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The code of one container for one architecture, such as 90 for sm_90."""

    container: int
    kind: int
    arch: int
    payload: int
    size: int


@dataclass(frozen=True, slots=True)
class Reduction:
    """Bytes of GPU code that stay, and that were overwritten."""

    kept_bytes: int
    cleared_bytes: int


def reduce(path: Path, arch: int) -> Reduction:
    """Clear the code in a library that a GPU of `arch` does not run; nothing without a section."""
    with path.open("r+b") as file:
        entries = list(read_entries(file))
        selection = set(usable(entries, arch))
        for entry in entries:
            if entry not in selection:
                file.seek(entry.payload)
                file.write(bytes(entry.size))
    total = sum(entry.size for entry in entries)
    kept_bytes = sum(entry.size for entry in selection)
    return Reduction(kept_bytes, total - kept_bytes)


def usable(entries: Sequence[Entry], arch: int) -> list[Entry]:
    """What a GPU of `arch` takes of each container: its own code, else that of the closest older
    architecture of its generation, else the newest PTX that it can compile."""
    containers: dict[int, list[Entry]] = {}
    for entry in entries:
        containers.setdefault(entry.container, []).append(entry)
    return [entry for group in containers.values() for entry in _usable(group, arch)]


def _usable(group: Sequence[Entry], arch: int) -> list[Entry]:
    older = [entry for entry in group if entry.arch <= arch]
    cubins = [e for e in older if e.kind == CUBIN and e.arch // 10 == arch // 10]
    candidates = cubins or [entry for entry in older if entry.kind == PTX]
    newest = max((entry.arch for entry in candidates), default=0)
    return [entry for entry in candidates if entry.arch == newest]


def read_entries(file: BinaryIO) -> Iterator[Entry]:
    """All entries of a library; none of what is no ELF file for 64 bits or has no GPU code."""
    for section in sections(file):
        if section.name not in SECTIONS:
            continue
        position, end = section.offset, section.offset + section.size
        while position < end:
            magic, _, header_size, body_size = unpack(file, _CONTAINER, position)
            if magic != _MAGIC:
                raise NotReadable(f"no container of GPU code at byte {position} (got {magic:#x})")
            body, next_container = position + header_size, position + header_size + body_size
            while body < next_container:
                kind, _, entry_size, payload_size, arch = unpack(file, _ENTRY, body)
                payload = body + entry_size
                if kind not in (PTX, CUBIN) or payload + payload_size > next_container:
                    raise NotReadable(f"no entry of GPU code at byte {body} (kind {kind})")
                yield Entry(position, kind, arch, payload, payload_size)
                body = payload + payload_size
            position = next_container
