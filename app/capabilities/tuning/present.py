"""The answer of a search over options: its ablation as a table, and the files in the run folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.capabilities.registry import Answer
from app.capabilities.tuning.answer import (
    Gain,
    Rung,
    TuneAnswer,
    TuneResults,
    tune_results,
    value_text,
    with_peak,
)
from app.capabilities.tuning.files import files_of
from app.formatting import text
from app.present.document import Block, Cell, Column, Heading, Points, latency_cell, names, table
from app.run_folder.run import Run
from exporters.cache import default_root


def ladder_tables(results: TuneResults) -> Iterator[Block]:
    """Of each model what its search came to, then the table of its steps."""
    for _, answer in results.searches:
        yield Points(tuple(answer.sentences))
        if answer.rungs:
            yield from _table(answer, results)


def _table(answer: TuneAnswer, results: TuneResults) -> Iterator[Block]:
    goal = results.goal
    heading = "inputs/s" if goal.rate else goal.name
    headings = ["step", heading, "times better", "than default", "error"]
    if goal.constraint is not None:
        headings.append(goal.constraint.name)
    top1 = any(rung.top1 is not None for rung in answer.rungs)
    headings += ["top-1"] * top1
    yield Heading(f"{answer.model}: {answer.goal}, step by step", 3)
    yield table(
        (*names("step"), Column(heading), *names(*headings[2:4]), *map(Column, headings[4:])),
        [
            (*_ladder_cells(rung, results), *[_percent_cell(rung.top1, 4)] * top1)
            for rung in answer.rungs
        ],
    )


def _ladder_cells(rung: Rung, results: TuneResults) -> Iterator[Cell | str]:
    yield rung.label
    unit = "per_s" if results.goal.rate else "us"
    yield Cell(value_text(rung.value, results.goal), rung.value, unit=unit)
    yield _gain_cell(rung.gain)
    yield _gain_cell(rung.total)
    yield _percent_cell(rung.error, 2)
    if results.goal.constraint is not None:
        yield latency_cell(rung.kept_us)


def _percent_cell(share: float | None, digits: int) -> Cell:
    return Cell(text.NOT_MEASURED if share is None else f"{100 * share:.{digits}g} %", share)


def _gain_cell(gain: Gain | None) -> Cell:
    if gain is None:
        return Cell("")
    gain_text = str(gain) if gain.verdict == "better" else f"{gain} {gain.verdict}"
    return Cell(gain_text, gain.times, unit="times", low=gain.low, high=gain.high)


@dataclass(frozen=True, slots=True)
class TuningAnswer(Answer):
    """The best options of each model, and what each change gained."""

    run: Run
    results: TuneResults

    replaces_rows = True

    @property
    def exit_code(self) -> int:
        """1 where a search has no answer."""
        answers = (answer for _, answer in self.results.searches)
        return int(any(not answer.rungs or not answer.over for answer in answers))

    def question(self, models: str, runtimes: str) -> str:
        return f"Which runtime and options give the best {self.results.goal.name} for {models}?"

    def tables(self) -> Iterator[Block]:
        return ladder_tables(self.results)

    def sentences(self) -> Iterator[str]:
        for _, answer in self.results.searches:
            yield from answer.sentences

    def files(self) -> Iterator[tuple[str, bytes]]:
        return files_of(self.run, self.results)

    def complete(self) -> TuningAnswer:
        """With the host's int8 peak, which a process of its own measures once."""
        return replace(self, results=with_peak(self.results, self.run, default_root()))


def tune_answer(run: Run) -> TuningAnswer | None:
    """None where the plan has no goal; reads the samples of every round."""
    results = tune_results(run)
    return None if results is None else TuningAnswer(run, results)
