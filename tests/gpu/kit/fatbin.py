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

SECTIONS = ("__nv_relfatbin", ".nv_fatbin")
_ELF_64_BITS = b"\x7fELF\x02\x01"
# Of Elf64_Ehdr: where the section headers are, then how many and which of them has the names.
_SECTION_TABLE, _SECTION_COUNTS = (struct.Struct("<Q"), 0x28), (struct.Struct("<HH"), 0x3C)
# Elf64_Shdr: the name's offset, type, flags, address, offset, size, and four that are not needed.
_SECTION = struct.Struct("<IIQQQQIIQQ")
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
        kept = set(usable(entries, arch))
        for entry in entries:
            if entry not in kept:
                file.seek(entry.payload)
                file.write(bytes(entry.size))
    total = sum(entry.size for entry in entries)
    kept_bytes = sum(entry.size for entry in kept)
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
    for offset, size in _sections(file):
        position, end = offset, offset + size
        while position < end:
            magic, _, header_size, body_size = _unpack(file, _CONTAINER, position)
            if magic != _MAGIC:
                raise NotReadable(f"no container of GPU code at byte {position} (got {magic:#x})")
            body, next_container = position + header_size, position + header_size + body_size
            while body < next_container:
                kind, _, entry_size, payload_size, arch = _unpack(file, _ENTRY, body)
                payload = body + entry_size
                if kind not in (PTX, CUBIN) or payload + payload_size > next_container:
                    raise NotReadable(f"no entry of GPU code at byte {body} (kind {kind})")
                yield Entry(position, kind, arch, payload, payload_size)
                body = payload + payload_size
            position = next_container


def _sections(file: BinaryIO) -> list[tuple[int, int]]:
    """Offset and size of the sections with GPU code."""
    file.seek(0)
    if file.read(len(_ELF_64_BITS)) != _ELF_64_BITS:
        return []
    (table,) = _unpack(file, *_SECTION_TABLE)
    count, names_index = _unpack(file, *_SECTION_COUNTS)
    headers = [_unpack(file, _SECTION, table + _SECTION.size * n) for n in range(count)]
    if not headers:
        return []
    names = headers[names_index]
    file.seek(names[4])
    text = file.read(names[5])
    return [
        (header[4], header[5])
        for header in headers
        if text[header[0] : text.find(b"\0", header[0])].decode("latin-1") in SECTIONS
    ]


def _unpack(file: BinaryIO, layout: struct.Struct, offset: int) -> tuple[int, ...]:
    file.seek(offset)
    data = file.read(layout.size)
    if len(data) < layout.size:
        raise NotReadable(f"the file ends before byte {offset + layout.size}")
    return layout.unpack(data)
