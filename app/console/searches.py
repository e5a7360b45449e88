"""Results of searches: request rates under a latency target, and options of runtimes."""

from __future__ import annotations

from collections.abc import Iterator

from app.capabilities.slo_search.answer import (
    ANSWERS,
    RATES,
    RateResults,
    answers_json,
    as_csv,
    curve_rows,
    knee_hz,
    rate,
    sentence,
    target_text,
)
from app.capabilities.slo_search.estimate import figure_us, interval, late_share
from app.capabilities.slo_search.search import Point, SearchState, Verdict
from app.capabilities.tuning.answer import Gain, Rung, TuneAnswer, TuneResults, value_text
from app.capabilities.tuning.files import files_of
from app.cases.objectives import Target
from app.formatting import text
from app.plan.command import graphlap_line
from app.present.cells import count_cell, latency_cell, latency_interval_cell
from app.present.document import Block, Cell, Column, Command, Heading, Points, names, table
from app.present.figure import Axis, Figure, Mark, ReferenceLine, Region, Series
from app.present.svg import svg_document
from app.run_folder.folder import RunFolder
from app.run_folder.run import Run

SVG = "rates.svg"


def rate_figures(results: RateResults) -> list[Figure]:
    """A figure for each search with its subject, of those that measured a rate."""
    figures = (_figure(subject, searched, results.target) for subject, searched in results.searches)
    return [figure for figure in figures if figure.marks]


def _figure(subject: str, searched: SearchState, target: Target) -> Figure:
    known = ((point.rate_hz, figure_us(point.rounds)) for point in searched.points)
    marks = tuple(
        Mark(hz, latency_us, f"{rate(hz)}: {target.name} {text.latency(latency_us)}")
        for hz, latency_us in known
        if hz is not None and latency_us is not None
    )
    maximum_hz = max((mark.x for mark in marks), default=0.0)
    ends = searched.bracket
    bracket = (
        (Region(min(ends.low_hz, maximum_hz), min(ends.high_hz, maximum_hz)),)
        if ends.low_hz is not None and ends.high_hz is not None
        else ()
    )
    return Figure(
        f"{target.name} over the rate of requests: {subject}",
        Axis("requests per second", "per_s", least=0.0),
        Axis(f"latency, {target.name}", "us", "log"),
        (Series(subject, marks, "line", has_legend=False),),
        tuple(_references(searched, target)),
        bracket,
        note=sentence(subject, searched, target),
    )


def _references(searched: SearchState, target: Target) -> Iterator[ReferenceLine]:
    yield ReferenceLine("y", target.limit_us, target_text(target), "error")
    bend = knee_hz(searched)
    if bend is not None:
        yield ReferenceLine("x", bend, f"knee at {rate(bend)}", "ok")


_WORDS: dict[Verdict | None, str] = {"not_offered": "came late", None: "not measured"}


def rate_tables(results: RateResults) -> Iterator[Block]:
    """The answer of each search, then the table of all steps."""

    target = results.target
    judged = "late" if target.percentile is not None else "mean"
    headings = ("case", "rate", target.name, f"{judged}, interval", "rounds", "verdict")
    sentences: list[str] = []
    rows: list[tuple[Cell | str, ...]] = []
    for subject, searched in results.searches:
        bend = knee_hz(searched)
        for point in searched.measured:
            rows.append((subject, *_cells(point, target, bend)))
        sentences.append(sentence(subject, searched, target))
    yield Points(tuple(sentences))
    if not all(searched.is_over for _, searched in results.searches):
        yield Command(graphlap_line(*results.resume), "continue the search")
    yield Heading(f"rates at {target_text(target)}", 3)
    yield table(names(*headings), rows)


def write_rates(folder: RunFolder, results: RateResults) -> None:
    """`rates.csv`, `rates.svg` and `rates.json` in the run folder, where a rate was measured."""
    rows = [
        row
        for name, searched in results.searches
        for row in curve_rows(name, searched, results.target)
    ]
    if rows:
        folder.write(RATES, as_csv(rows))
        folder.write(SVG, svg_document(rate_figures(results)))
        folder.write(ANSWERS, answers_json(results))


def _cells(point: Point, target: Target, bend: float | None) -> Iterator[Cell | str]:
    if point.rate_hz is None:
        yield "unloaded"
    else:
        knee = " (knee)" * (point.rate_hz == bend)
        yield Cell(rate(point.rate_hz) + knee, point.rate_hz, unit="per_s")
    yield latency_cell(figure_us(point.rounds))
    bounds = interval(point.rounds, target)
    low, high = (None, None) if bounds is None else (bounds.low, bounds.high)
    if target.percentile is None:
        yield latency_interval_cell(low, high)
    else:
        ends = () if bounds is None else (bounds.low, bounds.high)
        interval_text = f" ({' to '.join(f'{100 * end:.2f}' for end in ends)})" if ends else ""
        share = late_share(point.rounds)
        yield Cell(f"{100 * share:.2f} %{interval_text}", share, low=low, high=high)
    yield count_cell(len(point.rounds))
    yield _WORDS.get(point.verdict, str(point.verdict))


def ladder_tables(results: TuneResults) -> Iterator[Block]:
    """Of each model what its search came to, then the table of its steps."""
    for _, answer in results.searches:
        yield Points(tuple(answer.sentences))
        if answer.rungs:
            yield from _table(answer, results)


def write_ladder(folder: RunFolder, run: Run, results: TuneResults) -> None:
    """The files that tell it, in the run folder."""
    for name, data in files_of(run, results):
        folder.write(name, data)


def ladder_code(results: TuneResults) -> int:
    """1 where a search has no answer."""
    return int(any(not answer.rungs or not answer.over for _, answer in results.searches))


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
