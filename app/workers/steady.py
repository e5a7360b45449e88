"""When warm-up is over: a pure function of the medians of its windows.

Five windows in a row must agree within 2 % and show no trend; a slow drift can stay inside
2 % from one window to the next, so the newest window is also held against the oldest.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

WINDOWS = 5
AGREEMENT = 0.02
DRIFT = 0.01


def is_steady(medians_ns: Sequence[float]) -> bool:
    """True once the last five window medians agree and do not all move one way."""
    if len(medians_ns) < WINDOWS:
        return False
    last = list(medians_ns[-WINDOWS:])
    low, high = min(last), max(last)
    if high - low > AGREEMENT * low:
        return False
    pairs = list(pairwise(last))
    one_way = all(a < b for a, b in pairs) or all(a > b for a, b in pairs)
    return not (one_way and high - low > DRIFT * low)
