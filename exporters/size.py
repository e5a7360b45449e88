"""An amount of memory as people write it, in bytes."""

from __future__ import annotations

import re
from decimal import Decimal

from exporters.types import InvalidValue

_SIZE = re.compile(
    r"(?P<number>[0-9]{1,30}(\.[0-9]{1,30})?)\s*(?P<unit>([KMGT]i?)?B)", re.IGNORECASE
)
_UNITS = {
    f"{letter}{middle}B": base ** (power + 1)
    for power, letter in reversed(list(enumerate("KMGT")))
    for middle, base in (("i", 1024), ("", 1000))
} | {"B": 1}
"""The largest first."""
_MOST_BYTES = 2**63
"""More than any machine can name."""
_LOWER = {name.lower(): size for name, size in _UNITS.items()}


def parse_size(text: str) -> int:
    """Bytes of `8GiB`, `512 MiB` or `2GB`; ValueError with one sentence."""
    match = _SIZE.fullmatch(text.strip())
    size = Decimal(match["number"]) * _LOWER[match["unit"].lower()] if match else Decimal(0)
    if not 1 <= size < _MOST_BYTES:
        raise InvalidValue("is no amount of memory", "write it like 8GiB or 512MiB")
    return int(size)


def size_text(size: int) -> str:
    """So many bytes with the largest unit of which they are a whole number, such as `64MB`."""
    unit = next(name for name, unit_size in _UNITS.items() if size % unit_size == 0)
    return f"{size // _UNITS[unit]}{unit}"
