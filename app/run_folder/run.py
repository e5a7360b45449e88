"""A run as its readers see it: its plan, its journals, its samples, the time it spent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from app.cases.case import Case
from app.cases.errors import FileError
from app.cases.jobs import SUBJECTS
from app.cases.round import MEASURED, RECORD, SETS, RoundResult
from app.run_folder.journal import Operators, TimeSpent, Writer
from app.run_folder.manifest import Manifest
from app.run_folder.statistics_store import StatisticsStore
from exporters.diagnostics import Diagnostic
from exporters.file_access import read_file
from exporters.types import ExportedModel
from runtimes.execution import Clock, Samples

SAMPLES = "samples"
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Run:
    """`rounds` maps a case's id to its finished rounds by number, `writers` to who wrote each of
    them, as far as journals say it.

    `models` are keyed by the model as the cases name it and the precision asked for,
    `models_there` by the writer before these; `environments` are by host. `results` are by their
    kind, the id of their subject and their number (`app.cases.jobs.SUBJECTS`), `operators` by the
    case. `tried` are the cases that a search added to those of the plan.
    `damaged` are rounds that are left out, by the id of their case and by number, with what is
    wrong with their samples.
    `void` has, by the case, the last attempt of which rounds count no more.
    `store` has rows and statistics that were computed before. `time_spent` has a line of each
    writer that ended by itself. `folders` has the folder of each writer whose files lie elsewhere
    than in `path`. A union of several run folders has those as `parts` by their ids, `notes` on
    what they differ in, and the first one's `path`.
    """

    path: Path
    manifest: Manifest
    rounds: Mapping[str, Mapping[int, RoundResult]]
    writers: Mapping[str, Mapping[int, Writer]]
    models: Mapping[tuple[str, str], ExportedModel]
    results: Mapping[type, Mapping[str, Mapping[int, Any]]] = field(default_factory=dict)
    tried: tuple[Case, ...] = ()
    operators: Mapping[str, Operators] = field(default_factory=dict)
    damaged: Mapping[str, Mapping[int, Diagnostic]] = field(default_factory=dict)
    models_there: Mapping[tuple[str, str, str], ExportedModel] = field(default_factory=dict)
    environments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    void: Mapping[str, int] = field(default_factory=dict)
    time_spent: Sequence[TimeSpent] = ()
    store: StatisticsStore | None = None
    folders: Mapping[str, Path] = field(default_factory=dict)
    parts: Mapping[str, Run] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[Path, ...]:
        """The run folders that it is read from."""
        return tuple(part.path for part in self.parts.values()) or (self.path,)

    @property
    def run_ids(self) -> frozenset[str]:
        """The ids of this run and of those that it is a union of."""
        return frozenset((self.manifest.run_id, *self.parts))

    @property
    def cases(self) -> tuple[Case, ...]:
        """The plan's cases in its order, then those that a search added."""
        return self.manifest.cases + self.tried

    def rounds_of(self, case: Case) -> tuple[RoundResult, ...]:
        """The finished rounds of a case in their order."""
        rounds = self.rounds.get(case.case_id, {})
        return tuple(rounds[number] for number in sorted(rounds))

    def writer_of(self, case: Case) -> Writer | None:
        """Who wrote the last of a case's rounds; None where nobody did, or none says it.

        Of a case that a sweep on other machines cancelled, and told so itself, it is the host that
        measured what there is.
        """
        writers, rounds = self.writers.get(case.case_id), self.rounds.get(case.case_id, {})
        timed_numbers = [n for n in writers or () if n in rounds and rounds[n].samples]
        return writers[max(timed_numbers or writers)] if writers else None

    def host_of(self, case: Case) -> str:
        """The machine that measured a case, or is to; "" where nobody says it."""
        writer = self.writer_of(case)
        host = case.host or (writer.host if writer is not None else "")
        return host or str(self.manifest.environment.get("host") or "")

    def environment_of(self, case: Case) -> Mapping[str, Any]:
        """What that machine was when it measured the case."""
        writer = self.writer_of(case)
        return self.manifest.environment if writer is None else writer.environment

    def planned(self, case: Case) -> Manifest:
        """What the case was measured under: in a union the manifest of its own run."""
        writer = self.writer_of(case) if self.parts else None
        return self.manifest if writer is None else self.parts[writer.run_id].manifest

    def turn_of(self, case: Case) -> str:
        """The same of all cases whose rounds alternated on one machine: those of one number are
        pairs."""
        return f"{self.planned(case).run_id} {self.host_of(case)}"

    def model_of(self, case: Case) -> ExportedModel | None:
        """The model as the case's rounds had it; None until it was exported."""
        writer = self.writer_of(case)
        key = (writer.writer if writer is not None else "", case.model, case.precision)
        return self.models_there.get(key) or self.models.get((case.model, case.precision))

    def graphs_of(self, case: Case) -> tuple[str, ...]:
        """The sha256 of each graph that timed rounds of a case measured, in their order."""
        rounds = self.rounds_of(case)
        graphs = (result.model_sha256 for result in rounds if result.samples)
        return tuple(dict.fromkeys(filter(None, graphs)))

    def results_of(self, kind: type[R], case: Case) -> tuple[R, ...]:
        """The results of a kind that hold for a case, in the order of their numbers."""
        found = self.results.get(kind)
        subject = SUBJECTS[kind](case, self.model_of(case)) if found else None
        own = found.get(subject.case_id, {}) if found and subject else {}
        return tuple(own[number] for number in sorted(own))

    def result_of(self, kind: type[R], case: Case) -> R | None:
        """The one of a kind that has one for each subject."""
        return next(iter(self.results_of(kind, case)), None)

    def result_by_subject(self, kind: type[R]) -> dict[str, R]:
        """All of such a kind."""
        return {subject: own[0] for subject, own in self.results.get(kind, {}).items()}

    def without_batch(self, case: Case) -> Case:
        """The case but for its batch size."""
        model = self.model_of(case)
        axis = model.batch if model is not None and isinstance(model.batch, str) else "batch"
        return replace(case, axes={name: size for name, size in case.axes.items() if name != axis})

    def folder_of(self, result: RoundResult) -> Path:
        """Where the files of a round lie: the run's own folder, or that of its share or part."""
        writer = self.writers.get(result.case_id, {}).get(result.round)
        return self.path if writer is None else self.folders.get(writer.writer, self.path)

    def samples_path(self, result: RoundResult) -> Path:
        """The file of a round's samples."""
        return self.folder_of(result).joinpath(SAMPLES, result.samples)

    def samples_of(self, result: RoundResult) -> Samples:
        """The measured samples of one round, warm-up left out."""
        records = read_records(self.samples_path(result))
        return as_samples(
            records[records["phase"] == MEASURED],
            result.clock,
            result.open_loop is not None,
            "shapes_sha256" in result.facts,
            SETS in result.facts,
        )


def final_rounds(run: Run) -> dict[str, dict[int, RoundResult]]:
    """The rounds of a run by case and number, but for those that a resume measures again."""
    return {
        case_id: {n: result for n, result in rounds.items() if not result.is_tried_again}
        for case_id, rounds in run.rounds.items()
    }


def read_records(path: Path) -> np.ndarray:
    """The `RECORD` records of one file [n]; a torn last record is left out."""
    return records_of(read_samples(path))


def read_samples(path: Path) -> bytes:
    """A file of samples; FileError if it can't be read."""
    try:
        return read_file(path)
    except OSError as error:
        raise FileError(
            path,
            f"can't be read ({error.strerror})",
            "put it back, or resume the run to measure it again",
        ) from None


def records_of(data: bytes) -> np.ndarray:
    """The records in the content of such a file [n]; a torn last record is left out."""
    records: np.ndarray = np.frombuffer(data, RECORD, len(data) // RECORD.itemsize)
    return records


def as_samples(
    records: np.ndarray,
    clock: Clock,
    from_schedule: bool = False,
    has_shapes: bool = False,
    has_sets: bool = False,
) -> Samples:
    """Records [n] as the statistics take them; with `has_shapes` their lanes are shapes. Sets of
    the user's inputs have times of their own, as shapes do."""
    scheduled_ns, started_ns, finished_ns, lanes = (
        np.ascontiguousarray(records[name])
        for name in ("scheduled_ns", "started_ns", "finished_ns", "lane")
    )
    return Samples(
        scheduled_ns,
        started_ns,
        finished_ns,
        clock,
        from_schedule,
        lanes if not has_shapes and lanes.any() else None,
        lanes if has_shapes else np.ascontiguousarray(records["set"]) if has_sets else None,
    )


@dataclass(frozen=True, slots=True)
class Part:
    """Seconds of one activity, by runtime where it is of one."""

    activity: str
    seconds: float
    by_runtime: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TimeParts:
    """All of the time of a run's writers: the parts add up to `total_s`."""

    parts: tuple[Part, ...]

    @property
    def total_s(self) -> float:
        return sum(part.seconds for part in self.parts)

    def share(self, part: Part) -> float:
        return part.seconds / self.total_s

    @property
    def runtimes(self) -> tuple[str, ...]:
        names = (runtime for part in self.parts for runtime in part.by_runtime)
        return tuple(dict.fromkeys(sorted(names)))


def time_parts(run: Run) -> TimeParts | None:
    """None for a run that recorded none: it was killed."""
    seconds: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for time_spent in run.time_spent:
        for activity, by_runtime in time_spent.seconds.items():
            for runtime, value in by_runtime.items():
                seconds[activity][runtime] += value
    parts = [
        Part(
            activity.replace("_", " "),
            sum(totals.values()),
            {name: value for name, value in totals.items() if name},
        )
        for activity, totals in seconds.items()
    ]
    result = TimeParts(tuple(sorted(parts, key=lambda part: part.seconds, reverse=True)))
    return result if result.total_s > 0 else None
