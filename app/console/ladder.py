"""What a search over options came to: its ladder, sentences, and its files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from app.console.tables import simple_table
from app.results import text
from app.results.folder import RunFolder
from app.results.plain import printable
from app.results.run import Run
from app.results.tune_answer import Gain, Rung, TuneAnswer, TunesFound, value_text
from app.results.tune_files import files_of

if TYPE_CHECKING:
    from rich.console import RenderableType


def ladder_tables(found: TunesFound) -> Iterator[RenderableType]:
    """Of each model the table of its steps, then its sentences."""
    from rich.text import Text

    for _, answer in found.searches:
        if answer.rungs:
            yield _table(answer, found)
        yield Text("\n".join(map(printable, answer.sentences)), style="bold")


def write_ladder(folder: RunFolder, run: Run, found: TunesFound) -> None:
    """The files that tell it, in the run folder."""
    for name, data in files_of(run, found):
        folder.write(name, data)


def ladder_code(found: TunesFound) -> int:
    """1 where a search has no answer."""
    return int(any(not answer.rungs or not answer.over for _, answer in found.searches))


def _table(answer: TuneAnswer, found: TunesFound) -> RenderableType:
    goal = found.goal
    table = simple_table(printable(f"{answer.model}: {answer.goal}, step by step"))
    heading = "inputs/s" if goal.rate else goal.name
    headings = ["step", heading, "times better", "than default", "error"]
    if goal.kept is not None:
        headings.append(goal.kept.name)
    top1 = any(rung.top1 is not None for rung in answer.rungs)
    headings += ["top-1"] * top1
    for name in headings:
        table.add_column(name, overflow="fold")
    for rung in answer.rungs:
        table.add_row(*_cells(rung, found), *[_top1(rung)] * top1)
    return table


def _cells(rung: Rung, found: TunesFound) -> Iterator[str]:
    yield printable(rung.label)
    yield value_text(rung.value, found.goal)
    yield _times(rung.gain)
    yield _times(rung.total)
    yield text.NOT_MEASURED if rung.error is None else f"{100 * rung.error:.2g} %"
    if found.goal.kept is not None:
        yield text.latency(rung.kept_us)


def _top1(rung: Rung) -> str:
    return text.NOT_MEASURED if rung.top1 is None else f"{100 * rung.top1:.4g} %"


def _times(gain: Gain | None) -> str:
    if gain is None:
        return ""
    return str(gain) if gain.verdict == "better" else f"{gain} {gain.verdict}"
