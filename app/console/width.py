"""How many columns there are to print on."""

from __future__ import annotations

import os
import sys
from typing import TextIO

USUAL = 80
"""Of a pipe or a file that nobody says otherwise of."""


def width_of(stream: TextIO) -> int:
    """What COLUMNS says, else the terminal behind `stream` or behind the standard error."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    for candidate in (stream, sys.stderr):
        try:
            return os.get_terminal_size(candidate.fileno()).columns or USUAL
        except (OSError, ValueError, AttributeError):
            continue
    return USUAL
