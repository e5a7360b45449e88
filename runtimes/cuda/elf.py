"""ELF files: their sections, and the libraries that a shared library is linked against."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_64_BITS = b"\x7fELF\x02\x01"
# Of Elf64_Ehdr: where the section headers are, then how many and which of them has the names.
_TABLE, _COUNTS = (struct.Struct("<Q"), 0x28), (struct.Struct("<HH"), 0x3C)
# Elf64_Shdr: the name's offset, type, flags, address, offset, size, link, and three more.
_HEADER = struct.Struct("<IIQQQQIIQQ")
_DYNAMIC = struct.Struct("<qQ")
_DT_NEEDED = 1


class TruncationError(ValueError):
    """The file ends before what its headers name."""


@dataclass(frozen=True, slots=True)
class Section:
    """`link` is the number of the section with its texts."""

    name: str
    offset: int
    size: int
    link: int


def sections(file: BinaryIO) -> list[Section]:
    """All sections; none of what is no ELF file for 64 bits."""
    file.seek(0)
    if file.read(len(_64_BITS)) != _64_BITS:
        return []
    (table,) = unpack(file, *_TABLE)
    count, names_index = unpack(file, *_COUNTS)
    headers = [unpack(file, _HEADER, table + _HEADER.size * number) for number in range(count)]
    if not headers:
        return []
    names = _read(file, headers[names_index][4], headers[names_index][5])
    return [Section(_text(names, h[0]), h[4], h[5], h[6]) for h in headers]


def dependencies(path: Path) -> tuple[str, ...]:
    """The sonames of the libraries that the loader opens with this one; empty for an unreadable
    file."""
    try:
        with path.open("rb") as file:
            parts = sections(file)
            return tuple(
                _text(_read(file, parts[part.link].offset, parts[part.link].size), value)
                for part in parts
                if part.name == ".dynamic"
                for tag, value in _DYNAMIC.iter_unpack(_read(file, part.offset, part.size))
                if tag == _DT_NEEDED
            )
    except (OSError, TruncationError):
        return ()


def unpack(file: BinaryIO, layout: struct.Struct, offset: int) -> tuple[int, ...]:
    """The numbers at an offset; TruncationError where the file is shorter."""
    return layout.unpack(_read(file, offset, layout.size))


def _read(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    data = file.read(size)
    if len(data) < size:
        raise TruncationError(f"the file ends before byte {offset + size}")
    return data


def _text(texts: bytes, offset: int) -> str:
    return texts[offset : texts.find(b"\0", offset)].decode("latin-1")
