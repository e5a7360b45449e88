"""What searches for the highest rate came to: a table of their steps, a sentence each, files."""

from __future__ import annotations

from collections.abc import Iterator

from app.cases.target import Target
from app.console.rate_figure import SVG, rate_figures
from app.plan.program import graphlap_line
from app.present.document import Block, Cell, Command, Heading, Points, names, table
from app.present.svg import svg_document
from app.results import text
from app.results.folder import RunFolder
from app.results.rate_answer import kept, rate, sentence
from app.results.rate_curve import RATES, as_csv, curve_rows, knee_hz
from app.results.rate_search import Point
from app.results.rates_found import ANSWERS, RatesFound, answers_json
from app.stats.capacity import Verdict
from app.stats.judging import figure_us, interval, late_share

_WORDS: dict[Verdict | None, str] = {"not_offered": "came late", None: "not measured"}


def rate_tables(found: RatesFound) -> Iterator[Block]:
    """The answer of each search, then the table of all steps."""

    target = found.target
    judged = "late" if target.percentile is not None else "mean"
    headings = ("case", "rate", target.name, f"{judged}, interval", "rounds", "verdict")
    sentences: list[str] = []
    rows: list[tuple[Cell | str, ...]] = []
    for subject, searched in found.searches:
        bend = knee_hz(searched)
        for point in searched.measured:
            rows.append((subject, *_cells(point, target, bend)))
        sentences.append(sentence(subject, searched, target))
    yield Points(tuple(sentences))
    if not all(searched.over for _, searched in found.searches):
        yield Command(graphlap_line(*found.resume), "continue the search")
    yield Heading(f"rates at {kept(target)}", 3)
    yield table(names(*headings), rows)


def write_rates(folder: RunFolder, found: RatesFound) -> None:
    """`rates.csv`, `rates.svg` and `rates.json` in the run folder, where a rate was measured."""
    rows = [
        row for name, searched in found.searches for row in curve_rows(name, searched, found.target)
    ]
    if rows:
        folder.write(RATES, as_csv(rows))
        folder.write(SVG, svg_document(rate_figures(found)))
        folder.write(ANSWERS, answers_json(found))


def _cells(point: Point, target: Target, bend: float | None) -> Iterator[str]:
    if point.rate_hz is None:
        yield "unloaded"
    else:
        yield rate(point.rate_hz) + " (knee)" * (point.rate_hz == bend)
    yield text.latency(figure_us(point.rounds))
    found = interval(point.rounds, target)
    if target.percentile is None:
        yield text.NOT_MEASURED if found is None else text.interval(found.low, found.high)
    else:
        between = "" if found is None else f" ({100 * found.low:.2f} to {100 * found.high:.2f})"
        yield f"{100 * late_share(point.rounds):.2f} %{between}"
    yield str(len(point.rounds))
    yield _WORDS.get(point.verdict, str(point.verdict))
