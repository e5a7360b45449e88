"""Sentences of diagnostics: the one place where they are made.

Every function takes one diagnostic, or several of one code, whose figures it writes as ranges. A
code that the catalogue lacks, as of a later version, is written with its parameters.
"""

from __future__ import annotations

from exporters.diagnostics import catalogue
from exporters.diagnostics.diagnostic import Diagnostic, Parameter
from exporters.diagnostics.units import NAME, listing

_LONGEST_VALUE = 200
"""Characters of a parameter of an unknown code."""


def title(diagnostic: Diagnostic) -> str:
    """A few words without figures."""
    entry = catalogue.CATALOGUE.get(diagnostic.code)
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
    entry = catalogue.CATALOGUE.get(diagnostics[0].code)
    if entry is None:
        return _of_unknown(diagnostics) if part == "message" else ""
    whole = [one for one in diagnostics if entry.units.keys() <= one.parameters.keys()]
    try:
        values = {
            name: unit.text([one.parameters[name] for one in whole])
            for name, unit in entry.units.items()
        }
    except (TypeError, ValueError):  # none is whole, as of an earlier version
        return _of_unknown(diagnostics) if part == "message" else ""
    template: str = getattr(entry, part)
    return template.format_map({"subject": _subjects(diagnostics), **values})


def _subjects(diagnostics: tuple[Diagnostic, ...]) -> str:
    return NAME.text([one.subject for one in diagnostics])


def _of_unknown(diagnostics: tuple[Diagnostic, ...]) -> str:
    """The title with all that is known: `Clock resolution (host: board; ticks = 4)`."""
    first = diagnostics[0]
    figures = [f"{name} = {_value(value)}" for name, value in first.parameters.items()]
    facts = "; ".join(filter(None, (_subjects(diagnostics), ", ".join(figures))))
    return f"{title(first)} ({facts})." if facts else f"{title(first)}."


def _value(value: Parameter) -> str:
    written = listing(value) if isinstance(value, tuple) else str(value)
    return written if len(written) <= _LONGEST_VALUE else f"{written[:_LONGEST_VALUE]}…"
