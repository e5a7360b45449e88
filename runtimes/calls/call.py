"""A lane's run as calls that C can make: function addresses with their arguments.

What a lane offers here is the same work as its `run`, without the interpreter around it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

MOST_ARGUMENTS = 4


@dataclass(frozen=True, slots=True)
class Call:
    """A C function of up to four words, each an address or an integer.

    Its result is zero for success: a pointer with `returns_pointer`, else a 32-bit integer.
    `fault` makes of any other result what a run of the lane would have raised. The addresses must
    stay valid for as long as the lane is open.
    """

    function: int
    arguments: tuple[int, ...]
    fault: Callable[[int], Exception]
    returns_pointer: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """The bytes of `source` go to `target`; both are C-contiguous and as large as each other."""

    target: np.ndarray
    source: np.ndarray
