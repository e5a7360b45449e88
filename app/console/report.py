"""The answer at the end of a run: the rows, what to doubt in them, why some are missing, what to
look at, and which runtime is the fastest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from app.cases.verdict import BAND
from app.console.comparing import Outcome
from app.console.row_columns import SHOWN
from app.console.row_table import row_table
from app.console.sureness import sureness
from app.results import text
from app.results.causes import causes
from app.results.fastest import Fastest, fastest
from app.results.measured import Measured
from app.results.noticing.noticed import HEADING, noticed
from app.results.plain import printable
from app.results.together import Together
from app.results.warned import Warned, warned
from app.stats.between import LEAST_ROUNDS
from exporters.twins import is_null

if TYPE_CHECKING:
    from rich.console import RenderableType


def answer(
    measured: Sequence[Measured],
    width: int,
    sort: str = "",
    band: float = BAND,
    compared: Outcome | None = None,
    percentiles: Sequence[str] = SHOWN,
) -> Iterator[RenderableType]:
    """What is printed, part by part; `width` is how many columns there are.

    Cases that were never begun are told in one line and have none in the table. `compared` is
    what a comparison came to, if one was asked for; a change within `band` is none.
    """
    from rich.text import Text

    rows = [one.row for one in measured]
    together = Together([one.case for one in measured])
    begun = [row for row in rows if row["status"] != "cancelled"]
    kinds = warned(begun)
    if begun:
        yield row_table(begun, marks(kinds), width, sort, percentiles)
    for number, kind in enumerate(kinds, 1):
        yield listed(f"{number}", f"{together.text(kind.case_ids)}: {kind.sentence}", "yellow")
    for cause in causes(rows):
        yield listed(f"{cause.status}", f"{together.text(cause.case_ids)}: {cause.reason}", "bold")
    if compared is not None:
        yield Text(printable(compared.heading), style="bold")
        for line in compared.lines:
            yield listed("", line, "")
    sentences = [notice.sentence for notice in noticed(measured, together)]
    if sentences:
        yield Text(HEADING, style="bold")
    for sentence in sentences:
        yield listed("", sentence, "")
    contests = fastest([one for one in measured if not is_null(one.case.model)], band)
    if contests:
        yield Text("fastest, by the median", style="bold")
    for one in contests:
        yield listed("", f"{one.what}: {verdict_text(one, band)}", "")
    if any(not one.parted and one.rounds < LEAST_ROUNDS for one in contests):
        yield listed(
            "",
            f"undecided: fewer than {LEAST_ROUNDS} rounds can't tell how much processes differ: "
            f"--rounds {LEAST_ROUNDS} or more",
            "",
        )
    sure = list(sureness(begun))
    if sure:
        yield Text("how sure that is", style="bold")
    for sentence in sure:
        yield listed("", sentence, "")


def listed(mark: str, sentence: str, style: str) -> RenderableType:
    """A line that goes on under its own beginning."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(mark, style=style), Text(printable(sentence)))
    return grid


def marks(kinds: Sequence[Warned]) -> dict[str, str]:
    """By case id the numbers of the notes on it: `(1,3)`."""
    numbers: dict[str, list[str]] = {}
    for number, kind in enumerate(kinds, 1):
        for case_id in kind.case_ids:
            numbers.setdefault(case_id, []).append(str(number))
    return {case_id: f"({','.join(own)})" for case_id, own in numbers.items()}


def verdict_text(one: Fastest, band: float) -> str:
    """`ort-cpu, 1.42 times as fast as torch-cpu (1.38 to 1.47)`, or what would decide it."""
    clock = " (simulated)" if one.simulated else ""
    value, interval = text.significant(one.times), one.verdict.interval
    between = ""
    if interval is not None:
        low, high = (text.significant(bound, 4) for bound in (interval.low, interval.high))
        between = f" ({low} to {high})"
    if one.parted:
        return f"{one.first}, {value} times as fast as {one.second}{between}{clock}"
    if one.verdict.word == "same":
        return f"{one.first} and {one.second} are the same within {100 * band:g}%{between}{clock}"
    if one.rounds < LEAST_ROUNDS:
        return f"undecided; {one.first} leads {one.second} by {value} times{clock}"
    decides = f"--rounds {one.needed} may decide" if one.needed else "they hardly differ"
    said = f"undecided between {one.first} and {one.second}"
    return f"{said}, {value} times{between}: {decides}{clock}"
