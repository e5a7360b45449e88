"""What searches for the highest rate came to: a table of their steps, a sentence each, files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from app.cases.target import Target
from app.console.rate_svg import SVG, as_svg
from app.results import text
from app.results.folder import RunFolder
from app.results.plain import printable
from app.results.rate_answer import kept, rate, sentence, subjects
from app.results.rate_curve import RATES, as_csv, curve_rows, knee_hz
from app.results.rate_search import Point, rate_searches
from app.results.run import Run
from app.stats.capacity import Verdict
from app.stats.judging import figure_us, interval, late_share

if TYPE_CHECKING:
    from rich.console import RenderableType

_WORDS: dict[Verdict | None, str] = {"not_offered": "came late", None: "not finished"}


def rate_tables(run: Run) -> Iterator[RenderableType]:
    """The table of all steps, then their sentences; nothing of another plan."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    target = run.manifest.asked.target
    if target is None:
        return
    searches = rate_searches(run)
    names = subjects([search.subject for search in searches])
    table = Table(
        box=SIMPLE_HEAD, title=f"rates at {kept(target)}", title_justify="left", pad_edge=False
    )
    judged = "late" if target.percentile is not None else "mean"
    for heading in ("case", "rate", target.name, f"{judged}, interval", "rounds", "verdict"):
        table.add_column(heading, overflow="fold")
    sentences = []
    for search in searches:
        searched, name = search.of(run), printable(names[search.subject.case_id])
        bend = knee_hz(searched)
        for point in searched.measured:
            table.add_row(name, *_cells(point, target, bend))
        sentences.append(sentence(name, searched, target))
    yield table
    yield Text("\n".join(map(printable, sentences)), style="bold")


def write_rates(folder: RunFolder, run: Run) -> None:
    """`rates.csv` and `rates.svg` in the run folder, where a search has measured a rate."""
    target = run.manifest.asked.target
    if target is None:
        return
    searches = rate_searches(run)
    names = subjects([search.subject for search in searches])
    found = [(names[search.subject.case_id], search.of(run)) for search in searches]
    rows = [row for name, searched in found for row in curve_rows(name, searched, target)]
    if rows:
        folder.write(RATES, as_csv(rows))
        folder.write(SVG, as_svg(found, target))


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
