"""A range of samples that somebody marked: by how long they took, or by which ones they are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from app.plot_data.series import Part


@dataclass(frozen=True, slots=True)
class Span:
    """Iterations of one round of a case, as its records count them; `last` is the last of them."""

    key: str
    round: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Brush:
    """Measured samples whose `part` lies from `low_s` to below `high_s`, both in seconds.

    With `spans` it is those iterations alone, with `keys` only the samples of those cases.
    """

    part: Part
    low_s: float = 0.0
    high_s: float = math.inf
    spans: tuple[Span, ...] = ()
    keys: tuple[str, ...] = ()

    def log_ends(self, part: Part) -> tuple[float, float] | None:
        """The range in log10 seconds where it is one of this part, to be drawn as a band."""
        if self.spans or part != self.part:
            return None
        low = math.log10(self.low_s) if self.low_s > 0.0 else -math.inf
        return low, math.inf if math.isinf(self.high_s) else math.log10(self.high_s)
