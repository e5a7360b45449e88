"""Arrays of an .npz file: shapes and types from their headers, contents where they are asked for.

A header is a hundred bytes, and what follows may be packed a thousandfold: so what does not fit
is refused before it takes memory. Pickled objects are never read.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from math import prod
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from exporters.regular import open_file

_SUFFIX = ".npy"
_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
_LONGEST_HEADER = 10_000
"""What numpy reads at most; beyond is no array of numbers."""


@dataclass(frozen=True, slots=True)
class Header:
    """What an array's header says of it."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize


def npz_headers(path: Path) -> dict[str, Header]:
    """By name, what each array is; OSError, or ValueError for what is no .npz of plain arrays."""
    try:
        with open_file(path) as file, zipfile.ZipFile(file) as archive:
            return {_array_name(name): _header(archive, name) for name in archive.namelist()}
    except (OSError, ValueError, MemoryError):
        raise
    except Exception as error:  # whatever a damaged or locked archive raises
        raise ValueError(str(error)) from error


def npz_arrays(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """The arrays of these names; OSError, ValueError likewise, MemoryError for too large ones."""
    try:
        with open_file(path) as file, np.load(file, allow_pickle=False) as archive:
            return {name: np.asarray(archive[name]) for name in names}
    except (OSError, ValueError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(str(error)) from error


def _array_name(member: str) -> str:
    if not member.endswith(_SUFFIX):
        raise ValueError(f"it holds {member!r}, which is no array")
    return member.removesuffix(_SUFFIX)


def _header(archive: zipfile.ZipFile, member: str) -> Header:
    with archive.open(member) as file:
        version = npy.read_magic(file)
        count = _LENGTH_BYTES.get(version, 0)
        prefix = file.read(count)
        length = int.from_bytes(prefix, "little")
        if not count or length > _LONGEST_HEADER:
            raise ValueError(f"the header of {member!r} is not one of numpy's")
        content = BytesIO(prefix + file.read(length))
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(content)
    if dtype.hasobject or any(not isinstance(size, int) or size < 0 for size in shape):
        raise ValueError(f"{member!r} is no array of numbers")
    return Header(shape, dtype)
