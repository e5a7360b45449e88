"""Entries of the catalogue of diagnostics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporters.diagnostics.diagnostic import Parameter, Severity
from exporters.diagnostics.units import Unit


@dataclass(frozen=True, slots=True)
class Entry:
    """All that is written about one code.

    `message` states the condition with its figures, and its consequence; `{name}` stands for a
    parameter, `{subject}` for the subject. `condition` says for the documentation when it is
    raised, `action` what to do, empty where there is nothing to do. `units` are those of the
    parameters, by name; `example` are values of all of them.
    """

    title: str
    message: str
    condition: str
    action: str = ""
    severity: Severity = "warning"
    units: Mapping[str, Unit] = field(default_factory=dict)
    example: Mapping[str, Parameter] = field(default_factory=dict)
    example_subject: str = ""


Entries = dict[str, Entry]
