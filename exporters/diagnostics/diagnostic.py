"""Diagnostics as values: a code with figures and names, the units of its parameters, and the form
of a catalogue entry.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

Severity = Literal["info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""The worst first: an error makes the figures invalid, a warning makes some doubtful."""
Parameter = str | int | float | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """`code` is a key of the catalogue, or of a later version's. `parameters` are figures in the
    units that the catalogue declares, and names; `subject` is the host, input or node that is
    concerned, empty for the case as a whole. Make one with `catalogue.diagnostic`.
    """

    code: str
    severity: Severity = "warning"
    subject: str = ""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)


_SPELLED_OUT = 1e15
"""Larger figures are written with an exponent."""
_SHOWN_NAMES = 3
"""Of more names than this, together with the rest, only so many are listed."""


class Unit(Protocol):
    """A kind of parameter; `text` raises ValueError or TypeError for values of another kind."""

    @property
    def meaning(self) -> str:
        """What values are in it, for the documentation."""

    def text(self, values: Sequence[Parameter]) -> str:
        """These values: the one, or the range of several figures."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure with its unit: `12.3 µs`, of several `2.1 to 12.3 µs`."""

    symbol: str
    meaning: str
    factor: float = 1.0

    def text(self, values: Sequence[Parameter]) -> str:
        figures = [_number(value) * self.factor for value in values]
        return f"{_range(figures, _digits)}{self.symbol and ' '}{self.symbol}"


@dataclass(frozen=True, slots=True)
class Count:
    """A number of things: `1 round`, `2 to 9 rounds`; without a noun the number alone."""

    noun: str = ""
    plural: str = ""
    meaning: str = "count"

    def text(self, values: Sequence[Parameter]) -> str:
        counts = [_number(value) for value in values]
        number = _range(counts, lambda count: f"{count:,.0f}")
        noun = self.noun if max(counts) == 1 else self.plural or f"{self.noun}s"
        return f"{number} {noun}" if self.noun else number


@dataclass(frozen=True, slots=True)
class Name:
    """A name, a list of names, or a message of another program; several are listed."""

    meaning: str = "name"
    quoted: bool = False

    def text(self, values: Sequence[Parameter]) -> str:
        names: dict[str, None] = {}
        for value in values:
            names |= dict.fromkeys(value if isinstance(value, tuple) else (_string(value),))
        parts = [f"'{name}'" if self.quoted else name for name in names]
        if len(values) > 1 and len(parts) > _SHOWN_NAMES + 1:
            parts = [*parts[:_SHOWN_NAMES], f"{len(parts) - _SHOWN_NAMES:,} more"]
        return listing(parts)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of few words, each with the phrase that stands for it."""

    phrases: dict[str, str] = field(default_factory=dict)
    meaning: str = "word"

    def text(self, values: Sequence[Parameter]) -> str:
        words = dict.fromkeys(map(_string, values))
        return listing([self.phrases.get(word, word) for word in words], "or")


@dataclass(frozen=True, slots=True)
class ExitCode:
    """How a process ended, as POSIX and Python number it: below zero by a signal."""

    meaning: str = "exit code, negative for a signal"

    def text(self, values: Sequence[Parameter]) -> str:
        return listing([*dict.fromkeys(map(self._phrase, values))], "or")

    @staticmethod
    def _phrase(value: Parameter) -> str:
        code = int(_number(value))
        if code >= 0:
            return f"exit code {code}"
        names = {number.value: number.name for number in signal.Signals}
        return f"signal {names.get(-code, -code)}"


SHARE = Quantity("%", "share, 0 to 1", 100.0)
RATIO = Quantity("times", "ratio")
MICROSECONDS = Quantity("µs", "µs")
MILLISECONDS = Quantity("ms", "ms")
SECONDS = Quantity("s", "s")
HERTZ = Quantity("requests/s", "1/s")
MEGAHERTZ = Quantity("MHz", "MHz")
NUMBER = Quantity("", "number")
NAME, QUOTED, MESSAGE = Name(), Name(quoted=True), Name("message of another program")


def listing(words: Sequence[str], last: str = "and") -> str:
    """`a, b and c`."""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _range(figures: Sequence[float], figure_text: Callable[[float], str]) -> str:
    low, high = figure_text(min(figures)), figure_text(max(figures))
    return low if low == high else f"{low} to {high}"


def _digits(figure: float) -> str:
    """Three digits, all of them before the point: `1,234`, `12.3`, `0.012`, `3.39e+38`."""
    if 100 <= abs(figure) < _SPELLED_OUT:
        return f"{figure:,.0f}"
    return f"{figure:.3g}"


def _number(value: Parameter) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r:.80} is no number")
    return value


def _string(value: Parameter) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is no text")
    return value


@dataclass(frozen=True, slots=True)
class Entry:
    """All that is written about one code.

    `message` states the condition with its figures, and its consequence; `{name}` stands for a
    parameter, `{subject}` for the subject. `condition` says for the documentation when it is
    raised, `action` what to do, empty where there is nothing to do. `parameters` are by name their
    units and an example.
    """

    title: str
    message: str
    condition: str
    action: str = ""
    severity: Severity = "warning"
    parameters: Mapping[str, tuple[Unit, Parameter]] = field(default_factory=dict)
    example_subject: str = ""

    @property
    def units(self) -> dict[str, Unit]:
        return {name: unit for name, (unit, _) in self.parameters.items()}

    @property
    def example(self) -> dict[str, Parameter]:
        return {name: value for name, (_, value) in self.parameters.items()}


Entries = dict[str, Entry]
