"""The answer of an SLO search: rates found, their curves, and the files in the run folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.capabilities.slo_search.answer import (
    ANSWERS,
    RATES,
    RateResults,
    answers_json,
    as_csv,
    curve_rows,
    knee_hz,
    rate,
    rate_results,
    sentence,
    target_text,
)
from app.capabilities.slo_search.search import Point, SearchState, Verdict
from app.cases.column import Row
from app.cases.objectives import Target
from app.formatting import text
from app.plan.command import graphlap_line
from app.present.answer import Answer
from app.present.document import (
    Block,
    Cell,
    Command,
    Heading,
    Points,
    count_cell,
    latency_cell,
    latency_interval_cell,
    names,
    table,
)
from app.present.figure import Axis, Figure, Mark, ReferenceLine, Region, Series
from app.present.svg import svg_document
from app.run_folder.run import Run
from app.stats.capacity import figure_us, interval, late_share

SVG = "rates.svg"


def rate_figures(results: RateResults) -> list[Figure]:
    """A figure for each search with its subject, of those that measured a rate."""
    figures = (_figure(subject, state, results.target) for subject, state in results.searches)
    return [figure for figure in figures if figure.marks]


def _figure(subject: str, state: SearchState, target: Target) -> Figure:
    rate_points = ((point.rate_hz, figure_us(point.rounds)) for point in state.points)
    marks = tuple(
        Mark(hz, latency_us, f"{rate(hz)}: {target.name} {text.latency(latency_us)}")
        for hz, latency_us in rate_points
        if hz is not None and latency_us is not None
    )
    maximum_hz = max((mark.x for mark in marks), default=0.0)
    ends = state.bracket
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
        tuple(_references(state, target)),
        bracket,
        note=sentence(subject, state, target),
    )


def _references(state: SearchState, target: Target) -> Iterator[ReferenceLine]:
    yield ReferenceLine("y", target.limit_us, target_text(target), "error")
    bend = knee_hz(state)
    if bend is not None:
        yield ReferenceLine("x", bend, f"knee at {rate(bend)}", "ok")


_WORDS: dict[Verdict | None, str] = {"not_offered": "came late", None: "not measured"}


def rate_tables(results: RateResults) -> Iterator[Block]:
    """The answer of each search, then the table of all steps."""

    target = results.target
    judged_figure = "late" if target.percentile is not None else "mean"
    headings = ("case", "rate", target.name, f"{judged_figure}, interval", "rounds", "verdict")
    sentences: list[str] = []
    rows: list[tuple[Cell | str, ...]] = []
    for subject, state in results.searches:
        bend = knee_hz(state)
        for point in state.measured:
            rows.append((subject, *_cells(point, target, bend)))
        sentences.append(sentence(subject, state, target))
    yield Points(tuple(sentences))
    if not all(state.is_over for _, state in results.searches):
        yield Command(graphlap_line(*results.resume), "continue the search")
    yield Heading(f"rates at {target_text(target)}", 3)
    yield table(names(*headings), rows)


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


@dataclass(frozen=True, slots=True)
class RateSearchAnswer(Answer):
    """The highest rate of each case at the target of the plan."""

    results: RateResults

    def question(self, models: str, runtimes: str) -> str:
        target = target_text(self.results.target)
        return f"How many requests per second can be served at {target} ({models} on {runtimes})?"

    def tables(self) -> Iterator[Block]:
        return rate_tables(self.results)

    def sentences(self) -> Iterator[str]:
        results = self.results
        for name, state in results.searches:
            yield sentence(name, state, results.target)
        if not all(state.is_over for _, state in results.searches):
            yield f"to continue: {graphlap_line(*results.resume)}"

    def rows(self) -> Iterator[Row]:
        """Those of `rates.csv`."""
        for name, state in self.results.searches:
            yield from curve_rows(name, state, self.results.target)

    def figures(self) -> Iterator[Figure]:
        yield from rate_figures(self.results)

    def files(self) -> Iterator[tuple[str, bytes]]:
        """`rates.csv`, `rates.svg` and `rates.json`, where a rate was measured."""
        rows = list(self.rows())
        if rows:
            yield RATES, as_csv(rows)
            yield SVG, svg_document(rate_figures(self.results))
            yield ANSWERS, answers_json(self.results)


def rate_answer(run: Run) -> RateSearchAnswer | None:
    """None where the plan has no target."""
    results = rate_results(run)
    return None if results is None else RateSearchAnswer(results)
