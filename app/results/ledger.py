"""What a run is so far: the one place that takes journal lines, for all who know a run.

The batch parent gives it each line that it writes, readers and followers each that they read,
so that all of them see the same run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.cases.accuracy import AccuracyResult
from app.cases.case import Case
from app.cases.cold_start import ColdStart
from app.cases.round import RoundResult
from app.results.lines import Exported, Line, Operators, Tried, Voided, Writer
from app.results.manifest import Manifest
from app.results.run import Run
from exporters.types import ExportedModel


@dataclass(slots=True)
class Ledger:
    """`take` is told where each line comes from: the lines of one writer are of one host."""

    path: Path
    manifest: Manifest
    environments: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _writers: dict[str, str] = field(default_factory=dict)
    _rounds: dict[str, dict[int, RoundResult]] = field(default_factory=dict)
    _hosts: dict[str, str] = field(default_factory=dict)
    _void: dict[tuple[str, int], int] = field(default_factory=dict)
    _models: dict[tuple[str, str], ExportedModel] = field(default_factory=dict)
    _accuracies: dict[str, AccuracyResult] = field(default_factory=dict)
    _tried: dict[str, Case] = field(default_factory=dict)
    _operators: dict[str, Operators] = field(default_factory=dict)
    _cold_starts: dict[str, dict[int, ColdStart]] = field(default_factory=dict)

    def take(self, source: str, line: Line) -> str:
        """Know one line more; gives the id of the case that it is about, '' if of no one.

        What is recorded twice counts once: the first line stands, but for models and for
        rounds that were cancelled or voided, which are done again. Writers of several hosts are
        read in any order, so that of the attempts at a case the last one stands.
        """
        match line:
            case Writer():
                self._writers[source] = line.host
                self.environments.setdefault(line.host, line.environment)
            case Exported():
                self._models[line.asked, line.precision] = line.model
            case RoundResult():
                self._take_round(source, line)
                return line.case_id
            case Voided():
                self._take_voided(line)
                return line.case_id
            case AccuracyResult():
                self._accuracies.setdefault(line.subject, line)
            case Tried():
                self._tried.setdefault(line.case.case_id, line.case)
                return line.case.case_id
            case ColdStart():
                self._cold_starts.setdefault(line.subject, {}).setdefault(line.process, line)
            case Operators():
                self._operators.setdefault(line.case_id, line)
                return line.case_id
        return ""

    def _take_round(self, source: str, line: RoundResult) -> None:
        case_id = line.case_id
        if line.attempt <= self._void.get((case_id, line.round), 0):
            return
        known = self._rounds.setdefault(case_id, {})
        before = known.get(line.round)
        stands = before is None or before.status == "cancelled" or before.attempt < line.attempt
        if not stands:
            return
        others = [result.attempt for result in known.values() if result.status != "cancelled"]
        known[line.round] = line
        if line.attempt > max(others, default=0):
            self._hosts[case_id] = self._writers.get(source, "")

    def _take_voided(self, line: Voided) -> None:
        known = self._rounds.get(line.case_id, {})
        before = known.get(line.round)
        if line.attempt:
            place = line.case_id, line.round
            self._void[place] = max(line.attempt, self._void.get(place, 0))
            if before is None or before.attempt > line.attempt:
                return
        known.pop(line.round, None)
        if line.attempt and not known:
            self._hosts.pop(line.case_id, None)

    @property
    def run(self) -> Run:
        """The run as it stands; what is taken later shows in it."""
        return Run(
            self.path,
            self.manifest,
            self._rounds,
            self._hosts,
            self._models,
            self._accuracies,
            tuple(self._tried.values()),
            self._operators,
            self._cold_starts,
        )
