"""Statistics of a case's samples and its row: computed, or read from the run folder's store.

The statistics are a function of the samples and readings of the case's timed rounds, of these
rounds' journal lines, of the case, of three settings of the plan and of the program.
`Statistics.key` is a digest of all of these, so that a change of any of them is noticed:
samples
by checksum and size, lines by a digest of their text, the program by a digest of its source
files, which no one can forget to raise.

A row holds for one key: a digest of the case's own rounds, their samples and writers, of the
manifest, of every journal line of models, searches and other results, and of the program. So
it depends on more than the statistics of its samples do, and has an entry of its own: where a
manifest is edited, no sample is read anew.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import numpy as np

from app.cases.case import Case
from app.cases.column import Row
from app.cases.round import RoundResult
from app.columns.environment import (
    interference_columns,
    is_contended,
    outlier_counts,
    outlier_warnings,
)
from app.columns.families import SampleColumns
from app.columns.identity import as_imported
from app.columns.latency import block_rate, late_columns, rates_by_round
from app.columns.load import batcher_columns, shape_columns, sustained_columns
from app.machine.environment import graphlap_version
from app.plan.plan import Plan
from app.run_folder.files import new_digest, text_digest
from app.run_folder.folder import TELEMETRY
from app.run_folder.manifest import MANIFEST
from app.run_folder.run import Run
from app.run_folder.statistics_store import Content
from app.run_folder.telemetry import device_columns, readings_path
from app.stats.summary import Rate, Summary, summarise
from exporters.codec import CodecError, from_json, to_brief_json
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.file_access import read_file
from runtimes.execution import Samples


def round_starts_s(rounds: Sequence[RoundResult]) -> tuple[float, ...]:
    """Seconds since 1970 of each round; empty where the start of one is not recorded."""
    starts = [epoch_s(result.started_at_utc) for result in rounds]
    present = tuple(start for start in starts if start is not None)
    return present if len(present) == len(starts) else ()


def epoch_s(utc: str) -> float | None:
    """Of a time as the journal has it; None for one that is missing or damaged."""
    try:
        moment = datetime.fromisoformat(utc)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


_PROGRAM = (
    *("app/cases", "app/columns", "app/comparison", "app/formatting", "app/machine", "app/plan"),
    *("app/run_folder", "app/stats", "app/tune"),
    *("exporters", "runtimes"),
)
"""What rows are computed and stored by, from the folder that our packages lie in."""


@dataclass(frozen=True, slots=True)
class RowStatistics:
    """What a case's timed rounds give: the statistics, columns of the samples, diagnostics of
    these, and how much each of them did in a second."""

    summary: Summary | None
    blocks: Rate | None
    columns: SampleColumns
    disturbed: tuple[Diagnostic, ...]
    rates: tuple[float, ...]


@dataclass(slots=True)
class Statistics:
    """The statistics of a run's cases; a plan is understood once for each run that it is of."""

    _plans: dict[str, Plan] = field(default_factory=dict)

    def plan(self, run: Run, case: Case) -> Plan:
        """What the case was measured under, with the percentiles of all rows of the run."""
        manifest = run.planned(case)
        if manifest.run_id not in self._plans:
            percentiles = {"percentiles": run.manifest.requested_plan.percentiles}
            self._plans[manifest.run_id] = manifest.requested_plan.model_copy(update=percentiles)
        return self._plans[manifest.run_id]

    def of(self, run: Run, case: Case, rounds: Sequence[RoundResult]) -> RowStatistics:
        """Of these timed rounds of a case."""
        plan, key = self.plan(run, case), sound_key(run, case, rounds)
        stored_values = run.store.get(case.case_id, key) if run.store is not None and key else None
        if stored_values is not None:
            with suppress(CodecError):  # one that is of no use is replaced
                return from_json(RowStatistics, stored_values)
        read = [run.samples_and_content(result) for result in rounds]
        statistics = _compute(run, case, plan, rounds, [samples for samples, _ in read])
        # Only of what was looked at, not of what somebody has changed since.
        if key and key == self.key(run, case, rounds, [content for _, content in read]):
            store_statistics(run, case, rounds, statistics)
        return statistics

    def key(
        self, run: Run, case: Case, rounds: Sequence[RoundResult], contents: Sequence[Content]
    ) -> str:
        """What the statistics of these timed rounds, whose samples have these contents, depend
        on."""
        plan = self.plan(run, case)
        confidence = plan.confidence_at(len(rounds))
        parts = (
            program(),
            run.manifest.schema_version,
            sorted(plan.quantiles.items()),
            confidence,
            plan.deadline_us,
            to_brief_json(case),
            [run.line_digest(result) for result in rounds],
            contents,
            _readings(run, rounds),
        )
        return text_digest(json.dumps(parts).encode())


def store_statistics(
    run: Run, case: Case, rounds: Sequence[RoundResult], statistics: RowStatistics
) -> None:
    """Have statistics stored, if the samples of these timed rounds were found to be sound."""
    key = sound_key(run, case, rounds)
    if run.store is not None and key:
        run.store.put(case.case_id, key, statistics)


def sound_key(run: Run, case: Case, timed_rounds: Sequence[RoundResult]) -> str:
    """The key of the statistics of just these rounds; "" where samples were not looked at."""
    entry = run.sound.get(case.case_id)
    if (
        entry is None
        or not timed_rounds
        or entry.lines != tuple(map(run.line_digest, timed_rounds))
    ):
        return ""
    return entry.key


@cache
def program() -> str:
    """By what rows are computed: the versions and source files of what takes part."""
    versions = f"{graphlap_version()} {np.__version__} "
    return versions + program_digest(Path(__file__).parents[2], _PROGRAM)


def program_digest(root: Path, places: Sequence[str]) -> str:
    """A digest of the names and texts of these source files, and of those in these folders."""
    digest = new_digest()
    for place in (root / name for name in places):
        for path in sorted(place.rglob("*.py")) if place.is_dir() else (place,):
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _readings(run: Run, rounds: Sequence[RoundResult]) -> list[int]:
    """Checksums of the devices' readings of each round; nothing of a run that has none."""
    folders = {run.folder_of(result) for result in rounds}
    if not any((folder / TELEMETRY).is_dir() for folder in folders):
        return []
    return [_checksum(readings_path(run, result)) for result in rounds]


def _checksum(path: Path) -> int:
    try:
        return zlib.crc32(read_file(path))
    except OSError:
        return -1


def _compute(
    run: Run,
    case: Case,
    plan: Plan,
    timed_rounds: Sequence[RoundResult],
    samples: Sequence[Samples],
) -> RowStatistics:
    confidence = plan.confidence_at(len(timed_rounds))
    counts = outlier_counts(timed_rounds, samples)
    has_latency = case.scenario.kind != "ahead"
    columns = SampleColumns(
        device_columns(run, timed_rounds),
        interference_columns(timed_rounds, counts),
        late_columns(plan.deadline_us, samples, confidence) if has_latency else {},
        batcher_columns(case, samples),
        sustained_columns(case, run, timed_rounds, samples),
        shape_columns(run, case, timed_rounds),
    )
    starts_s = round_starts_s(timed_rounds)
    has_contention = is_contended(timed_rounds)
    blocks = block_rate(case, samples, starts_s, has_contention)
    disturbances = outlier_warnings(
        counts, sum(len(round_samples.started_ns) for round_samples in samples)
    )
    summary = summarise(samples, plan.quantiles, confidence, case.batcher, starts_s, has_contention)
    summary = as_imported(summary, timed_rounds)
    rates = rates_by_round(
        case, blocks, summary, timed_rounds[-1].concurrency if timed_rounds else 0
    )
    return RowStatistics(summary, blocks, columns, tuple(disturbances), rates)


_SCALARS = frozenset({bool, int, float, str})


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The rows of one run as it stands; `whole` tells of all of it but single rounds, and is empty
    where nothing can be stored."""

    run: Run
    run_key: str

    @staticmethod
    def of(run: Run) -> StoredRows:
        if run.store is None or not run.sound:
            return StoredRows(run, "")
        try:
            manifest = text_digest(read_file(run.path / MANIFEST))
        except OSError:
            return StoredRows(run, "")
        return StoredRows(
            run, json.dumps([program(), manifest, sorted(run.journal_digests.items())])
        )

    def get(self, case: Case, names: tuple[str, ...]) -> Row | None:
        """The row of a case with these columns, None if it is not stored."""
        key = self._key(case)
        values = (
            self.run.store.get(_name(case), key) if self.run.store is not None and key else None
        )
        if values is None or not _SCALARS.issuperset(map(type, values.values())):
            return None
        row: Row = dict.fromkeys(names)
        row.update(values)
        return row if len(row) == len(names) else None

    def put(self, case: Case, row: Row) -> None:
        """Store the values that a row has now."""
        key = self._key(case)
        if self.run.store is not None and key:
            values = {name: value for name, value in row.items() if value is not None}
            self.run.store.put(_name(case), key, values)

    def _key(self, case: Case) -> str:
        """Empty for a case of which samples were not looked at."""
        run, case_id = self.run, case.case_id
        rounds = run.rounds_of(case)
        samples = sound_key(run, case, [result for result in rounds if result.samples])
        if not self.run_key or not samples:
            return ""
        writers = run.writers.get(case_id, {})
        texts = (
            self.run_key,
            samples,
            *(
                f"{round_result.round} {run.line_digest(round_result)}"
                for round_result in rounds
                if not round_result.samples
            ),
            *(
                f"{number} {writer.writer} {run.writer_digests.get(writer.writer)}"
                for number, writer in sorted(writers.items())
            ),
            *(f"{number} {damage!r}" for number, damage in run.damaged.get(case_id, {}).items()),
            repr(run.operators.get(case_id)),
        )
        return text_digest("\n".join(texts).encode())


def _name(case: Case) -> str:
    """What the entry is called, beside that of the statistics."""
    return f"{case.case_id}.row"
