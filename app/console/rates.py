"""What searches for the highest rate came to: a table of their steps, a sentence each, files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from app.cases.target import Target
from app.console.rate_svg import SVG, as_svg
from app.console.tables import simple_table
from app.results import text
from app.results.folder import RunFolder
from app.results.plain import printable
from app.results.rate_answer import kept, rate, sentence
from app.results.rate_curve import RATES, as_csv, curve_rows, knee_hz
from app.results.rate_search import Point
from app.results.rates_found import ANSWERS, RatesFound, answers_json
from app.stats.capacity import Verdict
from app.stats.judging import figure_us, interval, late_share

if TYPE_CHECKING:
    from rich.console import RenderableType

_WORDS: dict[Verdict | None, str] = {"not_offered": "came late", None: "not measured"}


def rate_tables(found: RatesFound) -> Iterator[RenderableType]:
    """The table of all steps, then their sentences."""
    from rich.text import Text

    target = found.target
    table = simple_table(f"rates at {kept(target)}")
    judged = "late" if target.percentile is not None else "mean"
    for heading in ("case", "rate", target.name, f"{judged}, interval", "rounds", "verdict"):
        table.add_column(heading, overflow="fold")
    sentences = []
    for subject, searched in found.searches:
        name, bend = printable(subject), knee_hz(searched)
        for point in searched.measured:
            table.add_row(name, *_cells(point, target, bend))
        sentences.append(sentence(name, searched, target))
    yield table
    yield Text("\n".join(map(printable, sentences)), style="bold")
    if not all(searched.over for _, searched in found.searches):
        # In one piece, however long the folder's name: it is to be copied.
        yield Text(f"to continue: {found.command}", no_wrap=True, overflow="ignore")


def write_rates(folder: RunFolder, found: RatesFound) -> None:
    """`rates.csv`, `rates.svg` and `rates.json` in the run folder, where a rate was measured."""
    rows = [
        row for name, searched in found.searches for row in curve_rows(name, searched, found.target)
    ]
    if rows:
        folder.write(RATES, as_csv(rows))
        folder.write(SVG, as_svg(found))
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
