"""The request of a parent process to steer the batch mode by lines on its standard input."""

from __future__ import annotations

import os

STEERED = "GRAPHLAP_STEERED"
"""The environment variable by which a parent says that it writes to our standard input."""


def take_steered() -> bool:
    """Whether our parent steers this process; no process started later inherits the variable."""
    return os.environ.pop(STEERED, "") == "1"
