"""Numbers of a plan as text and back, without a lost digit: times, rates, shares, percentiles."""

from __future__ import annotations

from decimal import Decimal

NUMBER = r"[0-9]{1,20}(?:\.[0-9]{1,20})?"
"""A number as people write it, part of a pattern: no sign, no exponent, no endless digits."""


def plain(number: float) -> str:
    """The shortest text that is read as the same number, without an exponent: `1000000`, `0.05`."""
    text = str(number) if isinstance(number, int) else repr(float(number))
    return _without_exponent(Decimal(text)) if "e" in text else text.removesuffix(".0")


def scaled(text: str, factor: float) -> float:
    """The number in `text` times `factor`, multiplied in decimal digits and rounded once."""
    return float(Decimal(text) * Decimal(repr(factor)))


def divided(number: float, divisor: float) -> str:
    """The text of `number / divisor`, divided in decimal digits: `scaled` gives the number back."""
    return _without_exponent(Decimal(repr(float(number))) / Decimal(repr(divisor)))


def _without_exponent(number: Decimal) -> str:
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
