"""A run as everyone else sees it: what was planned, and all that its journals say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from app.cases.accuracy import AccuracyResult, subject_of
from app.cases.case import Case
from app.cases.cold_start import ColdStart
from app.cases.cold_start import subject_of as cold_subject_of
from app.cases.errors import ResultsError
from app.cases.round import MEASURED, RECORD, RoundResult
from app.results.lines import Operators
from app.results.manifest import Manifest
from exporters.types import ExportedModel
from runtimes.execution import Clock, Samples

SAMPLES = "samples"


@dataclass(frozen=True, slots=True)
class Run:
    """`rounds` maps a case's id to its finished rounds by number, `hosts` to who measured it.

    `models` are keyed by the model as the cases name it and the precision asked for,
    `accuracies` by the id of their subject, `operators` by the case,
    `cold_starts` by the id of their subject and by process. `tried` are the cases
    that a search added to those of the plan. `damaged` are rounds that are left out, by the id of
    their case and by number, with what is wrong with their samples.
    """

    path: Path
    manifest: Manifest
    rounds: Mapping[str, Mapping[int, RoundResult]]
    hosts: Mapping[str, str]
    models: Mapping[tuple[str, str], ExportedModel]
    accuracies: Mapping[str, AccuracyResult] = field(default_factory=dict)
    tried: tuple[Case, ...] = ()
    operators: Mapping[str, Operators] = field(default_factory=dict)
    cold_starts: Mapping[str, Mapping[int, ColdStart]] = field(default_factory=dict)
    damaged: Mapping[str, Mapping[int, str]] = field(default_factory=dict)

    @property
    def cases(self) -> tuple[Case, ...]:
        """The plan's cases in its order, then those that a search added."""
        return self.manifest.cases + self.tried

    def rounds_of(self, case: Case) -> tuple[RoundResult, ...]:
        """The finished rounds of a case in their order."""
        rounds = self.rounds.get(case.case_id, {})
        return tuple(rounds[number] for number in sorted(rounds))

    def accuracy_of(self, case: Case) -> AccuracyResult | None:
        """The accuracy that holds for a case: cases share it where only their timing differs."""
        model = self.models.get((case.model, case.precision)) if self.accuracies else None
        return None if model is None else self.accuracies.get(subject_of(case, model).case_id)

    def cold_starts_of(self, case: Case) -> tuple[ColdStart, ...]:
        """The processes that started cold for a case, in their order; cases share them where only
        their later runs differ."""
        if not self.cold_starts:
            return ()
        known = self.cold_starts.get(cold_subject_of(case).case_id, {})
        return tuple(known[number] for number in sorted(known))

    def samples_of(self, result: RoundResult) -> Samples:
        """The measured samples of one round, warm-up left out."""
        records = read_records(self.path.joinpath(SAMPLES, result.samples))
        measured = records[records["phase"] == MEASURED]
        samples = as_samples(measured, result.clock, from_schedule=result.open_loop is not None)
        if "shapes_sha256" not in result.facts:
            return samples
        return replace(samples, lanes=None, shapes=np.ascontiguousarray(measured["lane"]))


def read_records(path: Path) -> np.ndarray:
    """The `RECORD` records of one file [n]; a torn last record is left out."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ResultsError(
            f"{path} can't be read ({error.strerror})", "restore it, or measure again"
        ) from None
    records: np.ndarray = np.frombuffer(data, RECORD, len(data) // RECORD.itemsize)
    return records


def as_samples(records: np.ndarray, clock: Clock, from_schedule: bool = False) -> Samples:
    """Records [n] as the statistics take them."""
    return Samples(
        np.ascontiguousarray(records["scheduled_ns"]),
        np.ascontiguousarray(records["started_ns"]),
        np.ascontiguousarray(records["finished_ns"]),
        clock,
        from_schedule,
        np.ascontiguousarray(records["lane"]) if records["lane"].any() else None,
    )
