"""A deadline as people write it, in microseconds."""

from __future__ import annotations

import re

from app.cases.microseconds import NUMBER, UNIT, microseconds
from exporters.invalid_value import InvalidValue

LONGEST_DEADLINE_US = 24 * 3600e6


def parse_deadline(text: str) -> float:
    """Microseconds of `100us`, `2ms` or `1s`; ValueError with one sentence."""
    match = re.fullmatch(rf"{NUMBER}\s*{UNIT}", text.strip())
    deadline_us = microseconds(match["time"], match["unit"]) if match else 0.0
    if not 0.0 < deadline_us <= LONGEST_DEADLINE_US:
        raise InvalidValue(f"{text} is no time that a run may take", "write it like 100us or 2ms")
    return deadline_us
