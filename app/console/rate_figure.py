"""The latency over the rate of each search for a rate: its target, its knee and its bracket."""

from __future__ import annotations

from collections.abc import Iterator

from app.cases.target import Target
from app.present.figure import Axis, Figure, Mark, ReferenceLine, Region, Series
from app.results import text
from app.results.rate_answer import kept, rate, sentence
from app.results.rate_curve import knee_hz
from app.results.rate_search import Searched
from app.results.rates_found import RatesFound
from app.stats.judging import figure_us

SVG = "rates.svg"


def rate_figures(found: RatesFound) -> list[Figure]:
    """A figure for each search with its subject, of those that measured a rate."""
    figures = (_figure(subject, searched, found.target) for subject, searched in found.searches)
    return [figure for figure in figures if figure.marks]


def _figure(subject: str, searched: Searched, target: Target) -> Figure:
    known = ((point.rate_hz, figure_us(point.rounds)) for point in searched.points)
    marks = tuple(
        Mark(hz, us, f"{rate(hz)}: {target.name} {text.latency(us)}")
        for hz, us in known
        if hz is not None and us is not None
    )
    most_hz = max((mark.x for mark in marks), default=0.0)
    ends = searched.bracket
    bracket = (
        (Region(min(ends.low_hz, most_hz), min(ends.high_hz, most_hz)),)
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


def _references(searched: Searched, target: Target) -> Iterator[ReferenceLine]:
    yield ReferenceLine("y", target.limit_us, kept(target), "error")
    bend = knee_hz(searched)
    if bend is not None:
        yield ReferenceLine("x", bend, f"knee at {rate(bend)}", "ok")
