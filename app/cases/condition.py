"""What holds beside the scenario while a case is measured, as one word such as `cold:64MB`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

from app.cases.size import parse_size, size_text

ConditionKind = Literal["none", "cold"]

LEAST_COLD_BYTES = 4096
"""A page: less pollutes nothing."""
_EXAMPLES = "none or cold:64MB"


@dataclass(frozen=True, slots=True)
class Condition:
    """`cold`: between two runs so many `bytes` go through the caches of the core that runs."""

    kind: ConditionKind = "none"
    bytes: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """One word as `str` gives it; ValueError with one sentence."""
        kind, colon, figure = text.partition(":")
        if text == "none":
            return cls()
        if kind == "shapes":
            raise ValueError(
                f"{text!r} can't be measured, as sessions are compiled for fixed shapes; "
                "give each shape with --batch or --axis, as a case of its own"
            )
        if kind not in _KINDS or not colon:
            raise ValueError(f"{text!r} is not known; use {_EXAMPLES}")
        try:
            return cls(**_KINDS[kind](figure))
        except ValueError as error:
            raise ValueError(f"{text!r} {error}") from None

    def __str__(self) -> str:
        return f"cold:{size_text(self.bytes)}" if self.kind == "cold" else self.kind


def _cold(figure: str) -> dict[str, Any]:
    size = parse_size(figure)
    if size < LEAST_COLD_BYTES:
        raise ValueError(f"is less than a page; use at least {size_text(LEAST_COLD_BYTES)}")
    return {"kind": "cold", "bytes": size}


_KINDS: dict[str, Callable[[str], dict[str, Any]]] = {"cold": _cold}

NO_CONDITION = Condition()
