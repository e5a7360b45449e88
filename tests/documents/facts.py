"""What the founding documents print, as transcribed in `assets/published`: facts and figures."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from math import prod

from tests.checkout import ROOT

PUBLISHED = ROOT / "assets" / "published"


@dataclass(frozen=True)
class Statement:
    """A definition, a figure or a claim. `answer` is the command or the file that reproduces it,
    `result` how the answer relates to it, `reason` why it differs or what limits it."""

    document: str
    kind: str
    statement: str
    answer: str
    result: str
    reason: str


@dataclass(frozen=True)
class Operator:
    """One operator of the character-level CNN: sizes without the batch; a layer norm's weight is
    the size of its gain."""

    block: str
    operator: str
    input: tuple[int, ...]
    weight: tuple[int, ...]
    output: tuple[int, ...]

    @property
    def parameters(self) -> int:
        """With a bias for each output channel, and for each gain of a layer norm."""
        if not self.weight:
            return 0
        biases = prod(self.weight) if self.operator == "layernorm" else self.weight[0]
        return prod(self.weight) + biases

    @property
    def macs(self) -> int:
        """Of convolutions and linear layers; what else computes is no product with weights."""
        if self.operator not in ("conv1d", "linear"):
            return 0
        positions = self.output[1] if self.operator == "conv1d" else 1
        return prod(self.weight) * positions


def rows_of(name: str) -> list[dict[str, str]]:
    """The rows of a CSV file; lines that begin with # are its comments."""
    lines = (PUBLISHED / name).read_text("utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def statements() -> list[Statement]:
    return [Statement(**row) for row in rows_of("document_statements.csv")]


def operators() -> list[Operator]:
    """Those of the character-level CNN in its order."""
    return [
        Operator(
            row["block"],
            row["operator"],
            _sizes(row["input"]),
            _sizes(row["weight"]),
            _sizes(row["output"]),
        )
        for row in rows_of("char_cnn_operators.csv")
    ]


@cache
def catalogue() -> dict[str, dict[str, str]]:
    """The rows of our catalogue by name."""
    file = (ROOT / "assets" / "catalogue.csv").read_text("utf-8")
    return {row["name"]: row for row in csv.DictReader(file.splitlines())}


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split("x")) if text else ()
