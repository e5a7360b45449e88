"""Diagnostics: a code with figures and names, in the units that the catalogue declares, and the
sentences that are made of them.

The catalogue is `entries.toml`. Sentences are made here alone, of one case or of several grouped by
code.
"""

from __future__ import annotations

import signal
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol

Severity = Literal["info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""The worst first: an error makes the figures invalid, a warning makes some doubtful."""
Parameter = str | int | float | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """`code` is a key of the catalogue, or of a later version's. `parameters` are figures in the
    units that the catalogue declares, and names; `subject` is the host, input or node that is
    concerned, empty for the case as a whole. Make one with `diagnostic`.
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


_NAME = Name()
UNITS: Mapping[str, Unit] = {
    "exit code": ExitCode(),
    "figure": Name("figure"),
    "hertz": Quantity("requests/s", "1/s"),
    "megahertz": Quantity("MHz", "MHz"),
    "message": Name("message of another program"),
    "microseconds": Quantity("µs", "µs"),
    "milliseconds": Quantity("ms", "ms"),
    "name": _NAME,
    "number": Quantity("", "number"),
    "quoted": Name(quoted=True),
    "ratio": Quantity("times", "ratio"),
    "seconds": Quantity("s", "s"),
    "share": Quantity("%", "share, 0 to 1", 100.0),
}
"""By the words of `entries.toml`."""


@cache
def tables() -> Mapping[str, Entries]:
    """The entries by subject, as the documentation shows them; read when first asked for, since
    most processes of a run have nothing to tell."""
    data = tomllib.loads(Path(__file__).with_name("entries.toml").read_text("utf-8"))
    return {
        subject: {code: _entry(**values) for code, values in table.items()}
        for subject, table in data.items()
    }


@cache
def entries() -> Entries:
    """All of them by code."""
    return {code: entry for table in tables().values() for code, entry in table.items()}


def _entry(parameters: Mapping[str, Any] | None = None, **texts: Any) -> Entry:
    units = {
        name: (_unit(unit), tuple(example) if isinstance(example, list) else example)
        for name, (unit, example) in (parameters or {}).items()
    }
    return Entry(**texts, parameters=units)


def _unit(word: str | dict[str, str]) -> Unit:
    """A table has the phrases of a choice; `count other process/other processes` is one of a noun
    with its plural."""
    if isinstance(word, dict):
        return Choice(word)
    kind, _, noun = word.partition(" ")
    return Count(*noun.split("/")) if kind == "count" else UNITS[word]


def diagnostic(code: str, subject: str = "", **parameters: Parameter) -> Diagnostic:
    """A diagnostic of the catalogue; its parameters are exactly those that the entry declares.

    KeyError for another code, ValueError for other parameters or values of another kind.
    """
    entry = entries()[code]
    if parameters.keys() != entry.units.keys():
        expected = ", ".join(entry.units) or "none"
        parameter_names = ", ".join(parameters) or "none"
        raise ValueError(f"{code}: parameters {expected} expected, got {parameter_names}")
    for name, value in parameters.items():
        unit = entry.units[name]
        if isinstance(unit, Choice) and unit.phrases and value not in unit.phrases:
            raise ValueError(f"{code}: parameter {name}: {value!r:.80} is not one of its words")
        try:
            unit.text([value])
        except (TypeError, ValueError) as error:
            raise ValueError(f"{code}: parameter {name}: {error}") from None
    return Diagnostic(code, entry.severity, subject, parameters)


@dataclass(frozen=True, slots=True)
class DiagnosticGroup:
    """All diagnostics of one code, and the ids of the cases that have one, each once."""

    code: str
    diagnostics: tuple[Diagnostic, ...]
    case_ids: tuple[str, ...]

    @property
    def severity(self) -> Severity:
        """The worst among them."""
        return min((member.severity for member in self.diagnostics), key=SEVERITIES.index)


def grouped(cases: Iterable[tuple[str, Iterable[Diagnostic]]]) -> list[DiagnosticGroup]:
    """The groups of these cases' diagnostics, given with case ids, in order of appearance."""
    groups: dict[str, list[tuple[str, Diagnostic]]] = {}
    for case_id, diagnostics in cases:
        for member in diagnostics:
            groups.setdefault(member.code, []).append((case_id, member))
    return [
        DiagnosticGroup(
            code,
            tuple(member for _, member in members),
            tuple(dict.fromkeys(case_id for case_id, _ in members)),
        )
        for code, members in groups.items()
    ]


def codes(diagnostics: Sequence[Diagnostic]) -> tuple[str, ...]:
    """Their codes, each once."""
    return tuple(dict.fromkeys(member.code for member in diagnostics))


def distinct(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """These, each once."""
    unique_diagnostics: list[Diagnostic] = []
    for candidate in diagnostics:
        if candidate not in unique_diagnostics:
            unique_diagnostics.append(candidate)
    return tuple(unique_diagnostics)


_LONGEST_VALUE = 200
"""Characters of a parameter of an unknown code."""


def title(diagnostic: Diagnostic) -> str:
    """A few words without figures."""
    entry = entries().get(diagnostic.code)
    return entry.title if entry is not None else diagnostic.code.replace("_", " ").capitalize()


def message(*diagnostics: Diagnostic) -> str:
    """The condition with its figures, and its consequence."""
    return _filled("message", diagnostics)


def action(*diagnostics: Diagnostic) -> str:
    """What to do; empty where there is nothing to do."""
    return _filled("action", diagnostics)


def text(*diagnostics: Diagnostic) -> str:
    """Message and action in one line."""
    return " ".join(filter(None, (message(*diagnostics), action(*diagnostics))))


def _filled(part: str, diagnostics: tuple[Diagnostic, ...]) -> str:
    """Of a stranger's folder the codes and parameters may be others than the catalogue has."""
    try:
        entry = entries()[diagnostics[0].code]
        values = {
            name: unit.text([member.parameters[name] for member in diagnostics])
            for name, unit in entry.units.items()
        }
    except (KeyError, TypeError, ValueError):
        return _text_of_unknown(diagnostics) if part == "message" else ""
    template: str = getattr(entry, part)
    return template.format_map({"subject": _subjects(diagnostics), **values})


def _subjects(diagnostics: tuple[Diagnostic, ...]) -> str:
    return _NAME.text([member.subject for member in diagnostics])


def _text_of_unknown(diagnostics: tuple[Diagnostic, ...]) -> str:
    """The title with all that is known: `Clock resolution (host: board; ticks = 4)`."""
    first = diagnostics[0]
    figures = [f"{name} = {_value(value)}" for name, value in first.parameters.items()]
    facts = "; ".join(filter(None, (_subjects(diagnostics), ", ".join(figures))))
    return f"{title(first)} ({facts})." if facts else f"{title(first)}."


def _value(value: Parameter) -> str:
    value_text = listing(value) if isinstance(value, tuple) else str(value)
    return value_text if len(value_text) <= _LONGEST_VALUE else f"{value_text[:_LONGEST_VALUE]}…"
