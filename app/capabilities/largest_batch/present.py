"""The answer of a search for the largest batch: a table of the tries and a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.capabilities.largest_batch.search import (
    Search,
    Try,
    largest_fit,
    searches_of,
    stopped_by,
    tries_of,
)
from app.capabilities.registry import Answer
from app.cases.case import Case
from app.cases.column import number_of
from app.cases.status import FAILED, FITS, Status
from app.comparison.measured_case import MeasuredCase
from app.formatting import text
from app.formatting.case_labels import labels, model_labels
from app.present.document import (
    Block,
    Heading,
    names,
    table,
)
from app.present.figure import Axis, Figure, Mark, Series
from app.run_folder.run import Run


def batch_tables(run: Run) -> Iterator[Block]:
    """Each search of the run: the largest batch that fits, what stopped it, what was tried."""
    limit = run.manifest.requested_plan.memory_limit
    device = run.manifest.requested_plan.device_memory_limit
    device_text = f", of a GPU's: {device}" if device else ""
    searches, tries = searches_of(run), tries_of(run)
    models = model_labels(search.base.model for search in searches)
    yield Heading("largest batch", 3)
    yield table(
        names("model", "runtime", "largest batch", "stopped by", "tried"),
        [
            (models[search.base.model], search.base.runtime, *_search_cells(search, tries))
            for search in searches
        ],
        caption=f"limit of a measuring process, of the host's memory: {limit}{device_text}",
    )


def _search_cells(search: Search, tries: Sequence[Try]) -> tuple[str, str, str]:
    """Why the next one failed is among the causes of failures."""
    batches = search.statuses(tries)
    fits = str(largest_fit(batches) or text.NOT_MEASURED)
    is_finished = search.next_case(tries) is None
    reason = stopped_by(batches) if is_finished else "not searched to the end: resume the run"
    return fits, reason, ", ".join(map(str, batches))


def batch_figure(run: Run, cases: Sequence[MeasuredCase]) -> Figure | None:
    """How far each search for the largest batch came, and what stopped it; None if nothing was
    tried."""
    statuses: dict[str, dict[int, Status]] = {}
    ids: dict[str, list[str]] = {}
    subjects: dict[str, Case] = {}
    for measurement in cases:
        batch, subject = (
            number_of(measurement.row["batch_size"]),
            run.without_batch(measurement.case),
        )
        status = next((s for s in FITS | FAILED if s == measurement.row["status"]), None)
        if batch is not None and status is not None:
            subjects.setdefault(subject.case_id, subject)
            ids.setdefault(subject.case_id, []).append(measurement.case.case_id)
            statuses.setdefault(subject.case_id, {})[int(batch)] = status
    if not subjects:
        return None
    case_labels = labels(list(subjects.values()))
    series = []
    for place, (key, batches) in enumerate(statuses.items()):
        largest = largest_fit(batches)
        label = f"{largest or 'none'}, {stopped_by(batches)}"
        text_at_mark = f"{case_labels[key]}: {label}"
        mark = Mark(largest or 1.0, place, text_at_mark, label=label, is_hollow=not largest)
        series.append(Series(case_labels[key], (mark,), cases=tuple(ids[key]), has_legend=False))
    return Figure(
        "Largest batch that ran",
        Axis("batch size", "count", "log"),
        Axis(names=tuple(case_labels[key] for key in statuses)),
        tuple(series),
        note="Right of a mark: what stopped the next batch. Hollow: not even the first ran.",
    )


@dataclass(frozen=True, slots=True)
class LargestBatchAnswer(Answer):
    """The largest batch of each case; too little memory is an answer and no failure."""

    run: Run

    is_final = False
    expected = frozenset({"out_of_memory"})

    def question(self, models: str, runtimes: str) -> str:
        return f"How large a batch of {models} runs on {runtimes}?"

    def tables(self) -> Iterator[Block]:
        return batch_tables(self.run)

    def evidence(self, cases: Sequence[MeasuredCase]) -> Iterator[Figure]:
        figure = batch_figure(self.run, cases)
        if figure is not None:
            yield figure


def batch_answer(run: Run) -> LargestBatchAnswer | None:
    """None where the plan does not search."""
    return LargestBatchAnswer(run) if run.manifest.requested_plan.largest_batch else None
