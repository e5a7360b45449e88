"""What a measuring process tells of its round between two blocks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a round is; the percentiles are the running ones, None while unknown."""

    phase: str
    iterations: int
    elapsed_s: float
    p50_ns: float | None
    p99_ns: float | None
