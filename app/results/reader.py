"""A run folder as everyone else sees it: the manifest and all journals, merged.

Reads a finished run, one that is still being written and one that was killed alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from app.cases.accuracy import AccuracyResult, subject_of
from app.cases.case import Case
from app.cases.errors import ResultsError
from app.cases.round import MEASURED, RECORD, RoundResult
from app.results.folder import SAMPLES
from app.results.journal import read_journals
from app.results.manifest import Manifest, read_manifest
from exporters.types import ExportedModel
from runtimes.execution import Clock, Samples


@dataclass(frozen=True, slots=True)
class Run:
    """`rounds` maps a case's id to its finished rounds by number, `hosts` to who measured it.

    `models` are keyed by the model as the cases name it and the precision asked for,
    `accuracies` by the id of their subject. `tried` are the cases that a search added to
    those of the plan. `profiles` are journal lines by case, for
    `app.results.operators.read_profile`.
    """

    path: Path
    manifest: Manifest
    rounds: Mapping[str, Mapping[int, RoundResult]]
    hosts: Mapping[str, str]
    models: Mapping[tuple[str, str], ExportedModel]
    accuracies: Mapping[str, AccuracyResult] = field(default_factory=dict)
    tried: tuple[Case, ...] = ()
    profiles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

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
        model = self.models.get((case.model, case.precision))
        return None if model is None else self.accuracies.get(subject_of(case, model).case_id)

    def samples_of(self, result: RoundResult) -> Samples:
        """The measured samples of one round, warm-up left out."""
        records = read_records(self.path / SAMPLES / result.samples)
        return as_samples(records[records["phase"] == MEASURED], result.clock)


def read_run(path: Path) -> Run:
    """All that a run folder holds; ResultsError if it is none, is damaged or of another schema.

    A round recorded twice counts once: the first line stands.
    """
    manifest = read_manifest(path)
    rounds: dict[str, dict[int, RoundResult]] = {}
    hosts: dict[str, str] = {}
    models: dict[tuple[str, str], ExportedModel] = {}
    accuracies: dict[str, AccuracyResult] = {}
    tried: dict[str, Case] = {}
    profiles: dict[str, Mapping[str, Any]] = {}
    host = ""
    try:
        for line in read_journals(path):
            kind = line.pop("kind", "")
            if kind == "writer":
                host = line["host"]
            elif kind == "model":
                model = ExportedModel.from_json(line["model"])
                models[line["asked"], line["precision"]] = model
            elif kind == "round":
                result = RoundResult.from_json(line)
                rounds.setdefault(result.case_id, {}).setdefault(result.round, result)
                hosts.setdefault(result.case_id, host)
            elif kind == "accuracy":
                accuracy = AccuracyResult.from_json(line)
                accuracies.setdefault(accuracy.subject, accuracy)
            elif kind == "case":
                case = Case.from_json(line["case"])
                tried.setdefault(case.case_id, case)
            elif kind == "profile":
                profiles.setdefault(line["case_id"], line)
    except (KeyError, TypeError, ValueError) as error:
        raise ResultsError(
            f"the journal of {path} has a line that can't be understood ({error!r})",
            "restore it, or start a new run",
        ) from None
    return Run(path, manifest, rounds, hosts, models, accuracies, tuple(tried.values()), profiles)


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


def as_samples(records: np.ndarray, clock: Clock) -> Samples:
    """Records [n] as the statistics take them."""
    return Samples(
        np.ascontiguousarray(records["scheduled_ns"]),
        np.ascontiguousarray(records["started_ns"]),
        np.ascontiguousarray(records["finished_ns"]),
        clock,
    )
