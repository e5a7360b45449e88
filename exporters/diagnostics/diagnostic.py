"""Diagnostics: what to know of a measurement, as a code with figures and names.

Standard library only: adapters, measuring processes and readers share these values. No value
holds a sentence of ours; `rendering` makes sentences where they are shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

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
