"""The answer of a search for the largest batch: a table of the tries and a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.plot_data.series import Series as CaseSeries
from app.analysis.plot_data.series import batch, variants
from app.capabilities.largest_batch.search import (
    largest_fit,
    searches_of,
    stopped_by,
    tries_of,
)
from app.cases.case import Case
from app.cases.column import number_of
from app.cases.status import FAILED, FITS, Status
from app.formatting import text
from app.formatting.case_labels import labels, model_labels
from app.present.answer import Answer, CasesView, Table
from app.present.document import (
    Block,
    Heading,
    names,
    table,
)
from app.present.figure import Axis, Figure, Mark, Series, Symbol
from app.run_folder.run import Run


def batch_tables(run: Run) -> Iterator[Block]:
    """Each search of the run: the largest batch that fits, what stopped it, what was tried."""
    limit = run.manifest.requested_plan.memory_limit
    device = run.manifest.requested_plan.device_memory_limit
    device_text = f", of a GPU's: {device}" if device else ""
    models = model_labels(search.base.model for search in searches_of(run))
    yield Heading("largest batch", 3)
    yield table(
        names("model", "runtime", "largest batch", "stopped by", "tried"),
        [
            (
                models[row["model"]],
                row["runtime"],
                str(row["largest_batch"] or text.NOT_MEASURED),
                row["stopped_by"] if row["is_over"] else "not searched to the end: resume the run",
                row["tried"],
            )
            for row in search_rows(run)
        ],
        caption=f"limit of a measuring process, of the host's memory: {limit}{device_text}",
    )


def search_rows(run: Run) -> Iterator[Mapping[str, Any]]:
    """Of each search the largest batch that fits with its case, None where there is none, what
    stopped it, and the batches that were tried. Why the next one failed is among the causes of
    failures."""
    tries = tries_of(run)
    for search in searches_of(run):
        batches = search.statuses(tries)
        fits = largest_fit(batches) or None
        yield {
            "model": search.base.model,
            "runtime": search.base.runtime,
            "case_id": None if fits is None else search.case_at(fits).case_id,
            "largest_batch": fits,
            "stopped_by": stopped_by(batches),
            "is_over": search.next_case(tries) is None,
            "tried": ", ".join(map(str, batches)),
        }


def batch_figure(run: Run, cases: Sequence[MeasuredCase]) -> Figure | None:
    """How far each search for the largest batch came, and what stopped it; None if nothing was
    tried."""
    statuses: dict[str, dict[int, Status]] = {}
    ids: dict[str, list[str]] = {}
    subjects: dict[str, Case] = {}
    for measurement in cases:
        batch = number_of(measurement.row["batch_size"])
        subject = run.without_batch(measurement.case)
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

    def rows(self) -> Iterator[Mapping[str, Any]]:
        return search_rows(self.run)

    def evidence(self, cases: Sequence[MeasuredCase]) -> Iterator[Figure]:
        figure = batch_figure(self.run, cases)
        if figure is not None:
            yield figure


def batch_answer(run: Run) -> LargestBatchAnswer | None:
    """None where the plan does not search."""
    return LargestBatchAnswer(run) if run.manifest.requested_plan.largest_batch else None


class LargestBatchView(CasesView):
    """A row per model and runtime: the largest batch that fitted, and the first failure."""

    title = place = "Largest batch"
    hint = "The largest batch that ran, and how the next larger one that was tried ended."
    missing = "No finished case with a batch size yet. “Largest batch” of the sweep searches it."

    def offers(self, series: Sequence[CaseSeries]) -> bool:
        return any(item.status in FAILED for *_, group in _groups(series) for item in group)

    def figures(self, series: Sequence[CaseSeries]) -> list[Figure]:
        groups, lines = _groups(series), []
        if not groups:
            return []
        sizes = {size for *_, group in groups if (size := _reach(group)[0])} or {1}
        for row, (model, variant, group) in enumerate(groups):
            largest, ending = _reach(group)
            keys = tuple(item.key for item in group if batch(item) == largest)
            mark = Mark(largest or min(sizes), row, ending, label=ending)
            symbol: Symbol = "circle" if largest else "none"
            name = f"{model}  {variant}"
            lines.append(Series(name, (mark,), symbol=symbol, cases=keys or (group[0].key,)))
        ticks = tuple((size, str(size)) for size in sorted(sizes))
        x = Axis("Batch size", "", "log", ticks=ticks)
        return [Figure("", x, Axis(names=tuple(line.name for line in lines)), tuple(lines))]

    def heading(self, series: Sequence[CaseSeries]) -> tuple[str, str]:
        note = "of those that the sweep tried, and what stopped the next one"
        return "Largest batch that ran", note

    def table(self, series: Sequence[CaseSeries]) -> Table:
        rows = [[model, name, *_reach(group)] for model, name, group in _groups(series)]
        return ["model", "runtime", "largest_batch", "what_stopped_it"], rows


def _groups(series: Sequence[CaseSeries]) -> list[tuple[str, str, list[CaseSeries]]]:
    """Cases with a batch size that ended, by model and what else varies."""
    sized = [item for item in series if batch(item) is not None]
    variant_names = variants(sized)
    groups: dict[tuple[str, str], list[CaseSeries]] = {}
    for item in sized:
        if item.status in FITS | FAILED:
            groups.setdefault((item.model, variant_names[item.key]), []).append(item)
    return [(model, name, group) for (model, name), group in sorted(groups.items())]


def _reach(group: Sequence[CaseSeries]) -> tuple[int | None, str]:
    """The largest batch that ran, and a phrase for what is known beyond it."""
    statuses: dict[int, Status] = {
        batch(item) or 0: item.status
        for item in group
        if item.status != "waiting" and item.status != "measuring"
    }
    ran, ending = largest_fit(statuses), stopped_by(statuses)
    return (ran, f"{ran}, {ending}") if ran else (None, ending)
