"""Rows' warnings by their kind: each said once, with the figures of all rows and whose they are.

Two sentences are of one kind if they differ in nothing but their figures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from app.cases.column import Row, Value

_BETWEEN = "; "
_FIGURE = re.compile(r"'[^']*'|(?<![\w.:/-])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
"""What is quoted is a name, whatever digits are in it; `5,853.8` is one figure."""


@dataclass(frozen=True, slots=True)
class Warned:
    """A kind of warning: one sentence with the range of its figures, and the rows' case ids.

    `kind` is what the rows' own sentences share, with a `*` for each figure.
    """

    sentence: str
    case_ids: tuple[str, ...]
    kind: str = field(default="", compare=False)


def joined(sentences: Iterable[str]) -> str | None:
    """The cell that holds these sentences, each once, in order of appearance; None if none."""
    apart = (sentence.replace(_BETWEEN, ", ") for sentence in sentences if sentence)
    return _BETWEEN.join(dict.fromkeys(apart)) or None


def sentences(cell: Value) -> list[str]:
    """What `joined` put into a cell."""
    return str(cell).split(_BETWEEN) if cell else []


def warned(rows: Iterable[Row]) -> list[Warned]:
    """The kinds of warnings in these rows, in order of appearance."""
    kinds: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        for sentence in sentences(row["warnings"]):
            said = kinds.setdefault(_kind(sentence), [])
            said.append((sentence, str(row["case_id"])))
    return [
        Warned(
            _with_ranges([sentence for sentence, _ in said]),
            tuple(dict.fromkeys(case_id for _, case_id in said)),
            kind,
        )
        for kind, said in kinds.items()
    ]


def _kind(sentence: str) -> str:
    return _FIGURE.sub(lambda found: found[0] if found[0][0] == "'" else "*", sentence)


def _with_ranges(alike: Sequence[str]) -> str:
    """The sentence of one kind, with the least and the largest of each figure: 2 to 9."""
    figures = [[f for f in _FIGURE.findall(text) if f[0] != "'"] for text in alike]
    ranges = iter([_range(place) for place in zip(*figures, strict=True)])
    return _FIGURE.sub(lambda found: found[0] if found[0][0] == "'" else next(ranges), alike[0])


def _range(figures: Sequence[str]) -> str:
    low, high = min(figures, key=_number), max(figures, key=_number)
    return low if _number(low) == _number(high) else f"{low} to {high}"


def _number(figure: str) -> float:
    return float(figure.replace(",", ""))
