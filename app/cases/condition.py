"""What holds beside the scenario while a case is measured, as one word such as `cold:64MB`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from app.cases.duration import duration_text, parse_duration
from app.cases.shapes import Shapes
from exporters.invalid_value import InvalidValue
from exporters.size import parse_size, size_text

ConditionKind = Literal["none", "cold", "sustained", "with", "shapes"]

LEAST_COLD_BYTES = 4096
"""A page: less pollutes nothing."""
LEAST_SUSTAINED_S, MOST_SUSTAINED_S = 1.0, 7 * 24 * 3600.0
_EXAMPLES = "none, cold:64MB, sustained:30min, with:MODEL or shapes:FILE"


@dataclass(frozen=True, slots=True)
class Condition:
    """`cold`: between two runs so many `bytes` go through the caches of the core that runs.

    `sustained`: each round measures for `seconds`, so that its end can be held against its
    beginning. `with`: another `model` is at work beside the one that is measured. `shapes`: one
    session serves the shapes of a `file`, which are here once a plan is expanded.
    """

    kind: ConditionKind = "none"
    bytes: int = 0
    seconds: float = 0.0
    model: str = ""
    file: str = ""
    shapes: Shapes | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """One word as `str` gives it; ValueError with one sentence."""
        kind, colon, figure = text.partition(":")
        if text == "none":
            return cls()
        if kind not in _KINDS or not colon:
            raise InvalidValue(f"{text!r} is not known", f"use {_EXAMPLES}")
        try:
            return cls(**_KINDS[kind](figure))
        except InvalidValue as error:
            raise error.of(repr(text)) from None

    def __str__(self) -> str:
        figures = {
            "cold": size_text(self.bytes),
            "sustained": duration_text(self.seconds),
            "with": self.model,
            "shapes": self.file,
        }
        return f"{self.kind}:{figures[self.kind]}" if self.kind in figures else self.kind

    @property
    def identity(self) -> str:
        """What a case is known by: of a file what is in it, so that it may lie anywhere."""
        return str(self) if self.shapes is None else f"shapes:{self.shapes.sha256}"

    @property
    def points(self) -> tuple[Mapping[str, int], ...]:
        """The sizes of each shape that a session serves; () where it has one shape."""
        return () if self.shapes is None else self.shapes.points

    @property
    def varied(self) -> frozenset[str]:
        """The axes whose sizes differ from run to run."""
        return frozenset(() if self.shapes is None else self.shapes.axes)


def _cold(figure: str) -> dict[str, Any]:
    size = parse_size(figure)
    if size < LEAST_COLD_BYTES:
        raise InvalidValue("is less than a page", f"use at least {size_text(LEAST_COLD_BYTES)}")
    return {"kind": "cold", "bytes": size}


def _sustained(figure: str) -> dict[str, Any]:
    seconds = parse_duration(figure)
    if not LEAST_SUSTAINED_S <= seconds <= MOST_SUSTAINED_S:
        raise InvalidValue("is too short or too long", "use 1s to 168h")
    return {"kind": "sustained", "seconds": seconds}


def _with(model: str) -> dict[str, Any]:
    if not model:
        raise InvalidValue("names no model", "write it like with:mlp")
    return {"kind": "with", "model": model}


def _shapes(file: str) -> dict[str, Any]:
    if not file:
        raise InvalidValue("names no file", "write it like shapes:requests.csv")
    return {"kind": "shapes", "file": file}


_KINDS: dict[str, Callable[[str], dict[str, Any]]] = {
    "cold": _cold,
    "sustained": _sustained,
    "with": _with,
    "shapes": _shapes,
}

NO_CONDITION = Condition()
