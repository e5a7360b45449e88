"""Statistics of a case's samples, and the program that they and rows are computed by.

They are a function of the samples and readings of the case's timed rounds, of these rounds' journal
lines, of the case, of settings of the plan and of the program, which is known by a digest of its
source files, which no one can forget to raise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import numpy as np

from app.cases.case import Case
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
from app.run_folder.files import new_digest
from app.run_folder.run import Run
from app.run_folder.telemetry import device_columns
from app.stats.summary import Rate, Summary, summarise
from exporters.diagnostics.diagnostic import Diagnostic


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
    *("app/run_folder", "app/runs", "app/stats", "app/tune"),
    *("exporters", "runtimes"),
)
"""What runs are read and rows computed by, from the folder that our packages lie in."""


@dataclass(frozen=True, slots=True)
class RowStatistics:
    """What a case's timed rounds give: the statistics, columns of the samples, diagnostics of
    these, and how much each of them did in a second."""

    summary: Summary | None
    blocks: Rate | None
    columns: SampleColumns
    disturbed: tuple[Diagnostic, ...]
    rates: tuple[float, ...]


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


def statistics_of(
    run: Run, case: Case, plan: Plan, timed_rounds: Sequence[RoundResult]
) -> RowStatistics:
    """Of these timed rounds of a case, whose samples are read."""
    samples = [run.samples_of(result) for result in timed_rounds]
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
