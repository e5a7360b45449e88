"""A study: a published benchmark that is repeated, its cases in a run, and the table of studies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.analysis.columns.rows import Rows
from app.analysis.comparison.aggregate_throughput import AggregateThroughput, throughput_over_hosts
from app.analysis.comparison.measured_case import MeasuredCase
from app.cases.case import Case
from app.cases.column import number_of
from app.cases.dimensions import GRID
from app.cases.errors import PlanError, ResultsError, suggestion
from app.cases.status import INCOMPLETE
from app.formatting import text
from app.formatting.text import printable
from app.plan.studies import StudyPlan, is_part, is_twin_of_part
from app.present.document import Block
from app.run_folder.run import Run
from app.runs.verify import read_intact
from exporters import install_layout

NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Found:
    """A run with the rows of those of its cases that are the study's, in the plan's order;
    `others` counts the rest.

    Of a page of one machine the rows are those of `host` where the run has several, and `together`
    is what all of them serve. `damaged` has a sentence for each thing in its folder that could not
    be read.
    """

    run: Run
    measured: tuple[MeasuredCase, ...]
    others: int = 0
    host: str = ""
    together: tuple[AggregateThroughput, ...] = ()
    damaged: tuple[str, ...] = ()

    @property
    def environment(self) -> Mapping[str, Any]:
        """The machine that the rows are of."""
        if self.host and self.measured:
            return self.run.environment_of(self.measured[0].case)
        return self.run.manifest.environment

    def such(self, predicate: Callable[[Case], bool]) -> Iterator[MeasuredCase]:
        """The cases that are so, in the plan's order."""
        return (measurement for measurement in self.measured if predicate(measurement.case))

    def one(self, predicate: Callable[[Case], bool]) -> MeasuredCase | None:
        """The first of them; None where the run has none."""
        return next(self.such(predicate), None)


def found_in(folder: Path, study: StudyPlan, one_host: bool = False) -> Found:
    """A run as it is now, of what is whole in it; ResultsError for a folder that is none, and as
    `refuse_others`."""
    whole = read_intact(folder)
    results = found_of(whole.run, Rows().measured(whole.run), study, one_host)
    return replace(results, damaged=whole.damage_texts)


def found_of(
    run: Run, measurements: Sequence[MeasuredCase], study: StudyPlan, one_host: bool = False
) -> Found:
    """The same of a run whose rows are known; ResultsError as `refuse_others`.

    With `one_host` it has of several machines the rows of the one with most that are well, the
    first of such.
    """
    refuse_others(run, study)
    part_cases = tuple(
        measurement for measurement in measurements if is_part(measurement.case, study)
    )
    other_count = (
        len(measurements)
        - len(part_cases)
        - sum(is_twin_of_part(measurement.case, study) for measurement in measurements)
    )
    hosts = sorted({run.host_of(measurement.case) for measurement in part_cases})
    if len(hosts) == 1 or not one_host:
        return Found(run, part_cases, other_count)
    well = Counter(
        run.host_of(measurement.case) for measurement in part_cases if measurement.is_well
    )
    host = max(hosts, key=lambda name: well[name])
    host_cases = tuple(
        measurement for measurement in part_cases if run.host_of(measurement.case) == host
    )
    return Found(run, host_cases, other_count, host, throughput_over_hosts(run, part_cases))


def refuse_others(run: Run, study: StudyPlan) -> None:
    """ResultsError for a run that has nothing of the study."""
    if not any(is_part(case, study) for case in run.cases):
        raise ResultsError(
            f"{run.path} has no case of {study.name}", "name a run that this study made"
        )


def figure(measurement: MeasuredCase | None, column: str) -> float | None:
    """A figure of a case that may be compared; None where there is none, or its row is not well."""
    if measurement is None or not measurement.is_well:
        return None
    return number_of(measurement.row[column])


def cell(
    measurement: MeasuredCase | None,
    column: str,
    as_text: Callable[[float | None], str] = text.latency,
) -> str:
    """The figure as text, or in a word why there is none: the row's status, or that the samples
    don't bound it (`-`)."""
    if measurement is None:
        return ""
    if measurement.row["status"] in INCOMPLETE:
        return NOT_RUN
    if not measurement.is_well:
        status = str(measurement.row["status"]).replace("_", " ")
        return status if status != "ok" else "not valid"
    return as_text(figure(measurement, column))


BATCH = "batch"
Lines = dict[str, list[MeasuredCase]]
"""By label, in the order of the plan."""


def lines_of(measurements: Iterable[MeasuredCase], *, by_batch: bool = False) -> Lines:
    """The cases line by line; `by_batch` if a line has one batch size."""
    every = list(measurements)
    words = [_words(measurement.case, by_batch) for measurement in every]
    counts = Counter(word for case_words in words for word in set(case_words))
    lines: Lines = {}
    for measurement, case_words in zip(every, words, strict=True):
        differing = [word for word in case_words if counts[word] < len(every)]
        label = printable(" ".join([measurement.case.runtime, *differing]))
        lines.setdefault(label, []).append(measurement)
    return lines


def case_at(
    line: Iterable[MeasuredCase], model: str, batch: int | None = None
) -> MeasuredCase | None:
    """The first case of a model in a line, at a batch size if one is given; None without any."""
    return next(
        (m for m in line if m.case.model == model and batch in (None, m.case.axes.get(BATCH, 1))),
        None,
    )


def batch_sizes(line: Iterable[MeasuredCase]) -> list[int]:
    """Ascending."""
    return sorted({measurement.case.axes.get(BATCH, 1) for measurement in line})


def _words(case: Case, by_batch: bool) -> list[str]:
    words = [word for dimension in GRID for word in dimension.labels(case)]
    if by_batch and BATCH in case.axes:
        words.append(f"batch {case.axes[BATCH]}")
    words += [f"{name}={value}" for name, value in sorted(case.options.items())]
    words += [f"on {case.host}"] if case.host else []
    return [word for word in words if word]


def no_files(_: Found) -> Mapping[str, bytes]:
    """Of a study that has nothing beside its page."""
    return {}


@dataclass(frozen=True, slots=True)
class Study:
    """`title` heads the page, `repeats` is a sentence on what is repeated and how it is read.

    `tables` are the document's own, of what a run has so far: it says of each cell without a
    figure why it has none. `files` are written beside the page, contents by name. With `one_host`
    the page of a run of several machines is of one of them and has what all serve together; else
    machines are lines of its tables.
    """

    name: str
    title: str
    repeats: str
    tables: Callable[[Found], Iterable[Block]]
    files: Callable[[Found], Mapping[str, bytes]] = no_files
    one_host: bool = False


@dataclass(frozen=True, slots=True)
class Whole:
    """A study of several plans: each part is a study of its own, called `NAME/PART`, whose run lies
    in the folder PART of the whole's.

    `shares` are what each part has of a budget, in their order; they need not add up to 1.
    """

    name: str
    title: str
    repeats: str
    parts: tuple[Study, ...]
    shares: tuple[float, ...]

    def folder_of(self, part: Study) -> str:
        return part.name.removeprefix(f"{self.name}/")


STUDIES = {
    "char-cnn/ladder": "app.present.studies.char_cnn_ladder:LADDER",
    "char-cnn/operators": "app.present.studies.char_cnn_ladder:OPERATORS",
    "char-cnn/steps": "app.present.studies.char_cnn_steps:STUDY",
    "dlmark/accuracy": "app.present.studies.dlmark_parts:ACCURACY",
    "dlmark/devices": "app.present.studies.dlmark_parts:DEVICES",
    "dlmark/largest": "app.present.studies.dlmark_parts:LARGEST",
    "dlmark/throughput": "app.present.studies.dlmark_throughput:STUDY",
    "neurio": "app.present.studies.neurio:STUDY",
    "vollo": "app.present.studies.vollo:STUDY",
}
"""Those of one plan, parts of others among them."""
WHOLES = {
    "char-cnn": "app.present.studies.char_cnn_ladder:WHOLE",
    "dlmark": "app.present.studies.dlmark_throughput:WHOLE",
}


def study(name: str) -> Study:
    """The study of one plan of this name; PlanError suggests the nearest of all."""
    if name not in STUDIES:
        raise PlanError(f"there is no study called {name!r}", suggestion(name, (*WHOLES, *STUDIES)))
    definition: Study = install_layout.load(STUDIES[name])
    return definition


def whole(name: str) -> Whole | None:
    """The study of several plans of this name; None where there is none."""
    definition: Whole | None = install_layout.load(WHOLES[name]) if name in WHOLES else None
    return definition
