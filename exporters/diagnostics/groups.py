"""Diagnostics of several cases by their code: each code once, with the ranges of its figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from exporters.diagnostics.diagnostic import SEVERITIES, Diagnostic, Severity


@dataclass(frozen=True, slots=True)
class DiagnosticGroup:
    """All diagnostics of one code, and the ids of the cases that have one, each once."""

    code: str
    diagnostics: tuple[Diagnostic, ...]
    case_ids: tuple[str, ...]

    @property
    def severity(self) -> Severity:
        """The worst among them."""
        return min((one.severity for one in self.diagnostics), key=SEVERITIES.index)


def grouped(cases: Iterable[tuple[str, Iterable[Diagnostic]]]) -> list[DiagnosticGroup]:
    """The groups of these cases' diagnostics, given with case ids, in order of appearance."""
    groups: dict[str, list[tuple[str, Diagnostic]]] = {}
    for case_id, diagnostics in cases:
        for one in diagnostics:
            groups.setdefault(one.code, []).append((case_id, one))
    return [
        DiagnosticGroup(
            code,
            tuple(one for _, one in members),
            tuple(dict.fromkeys(case_id for case_id, _ in members)),
        )
        for code, members in groups.items()
    ]


def codes(diagnostics: Sequence[Diagnostic]) -> tuple[str, ...]:
    """Their codes, each once."""
    return tuple(dict.fromkeys(one.code for one in diagnostics))


def distinct(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """These, each once."""
    kept: list[Diagnostic] = []
    for one in diagnostics:
        if one not in kept:
            kept.append(one)
    return tuple(kept)
