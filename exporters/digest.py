"""What files and arrays are known by, wherever they lie: the sha256 of their content."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np


def file_sha256(path: Path) -> str:
    """The sha256 of a file's content in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def arrays_sha256(arrays: Mapping[str, np.ndarray]) -> str:
    """One sha256 in hex for all the arrays, with their names, types and shapes."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str}{array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
