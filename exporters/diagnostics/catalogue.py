"""Catalogue of diagnostics: the entries of `entries.toml`, and the sentences that are
made of them.

Sentences are made here alone, of one case or of several grouped by code.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from exporters.diagnostics.diagnostic import (
    HERTZ,
    MEGAHERTZ,
    MESSAGE,
    MICROSECONDS,
    MILLISECONDS,
    NAME,
    NUMBER,
    QUOTED,
    RATIO,
    SECONDS,
    SEVERITIES,
    SHARE,
    Choice,
    Count,
    Diagnostic,
    Entries,
    Entry,
    ExitCode,
    Name,
    Parameter,
    Severity,
    Unit,
    listing,
)

_UNITS: Mapping[str, Unit] = {
    "exit code": ExitCode(),
    "figure": Name("figure"),
    "hertz": HERTZ,
    "megahertz": MEGAHERTZ,
    "message": MESSAGE,
    "microseconds": MICROSECONDS,
    "milliseconds": MILLISECONDS,
    "name": NAME,
    "number": NUMBER,
    "quoted": QUOTED,
    "ratio": RATIO,
    "seconds": SECONDS,
    "share": SHARE,
}


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
    return Count(*noun.split("/")) if kind == "count" else _UNITS[word]


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
    return NAME.text([member.subject for member in diagnostics])


def _text_of_unknown(diagnostics: tuple[Diagnostic, ...]) -> str:
    """The title with all that is known: `Clock resolution (host: board; ticks = 4)`."""
    first = diagnostics[0]
    figures = [f"{name} = {_value(value)}" for name, value in first.parameters.items()]
    facts = "; ".join(filter(None, (_subjects(diagnostics), ", ".join(figures))))
    return f"{title(first)} ({facts})." if facts else f"{title(first)}."


def _value(value: Parameter) -> str:
    value_text = listing(value) if isinstance(value, tuple) else str(value)
    return value_text if len(value_text) <= _LONGEST_VALUE else f"{value_text[:_LONGEST_VALUE]}…"
