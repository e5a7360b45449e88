"""The shapes that one session serves, as a user's file gives them, and how often each comes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shapes:
    """`sizes` [n] gives each of the `axes` a size; `weights` [n] are to each other as often as the
    shapes come."""

    axes: tuple[str, ...]
    sizes: tuple[tuple[int, ...], ...]
    weights: tuple[float, ...]

    @property
    def points(self) -> tuple[Mapping[str, int], ...]:
        """The sizes of each shape by its axes."""
        return tuple(dict(zip(self.axes, sizes, strict=True)) for sizes in self.sizes)

    @property
    def sha256(self) -> str:
        """Names what is in the file, wherever it lies and however it is laid out."""
        told = json.dumps([self.axes, self.sizes, self.weights], separators=(",", ":"))
        return hashlib.sha256(told.encode()).hexdigest()
