"""What a search over options came to: its ladder, sentences, and its files."""

from __future__ import annotations

from collections.abc import Iterator

from app.present.document import Block, Column, Heading, Points, names, table
from app.results import text
from app.results.folder import RunFolder
from app.results.run import Run
from app.results.tune_answer import Gain, Rung, TuneAnswer, TunesFound, value_text
from app.results.tune_files import files_of


def ladder_tables(found: TunesFound) -> Iterator[Block]:
    """Of each model what its search came to, then the table of its steps."""
    for _, answer in found.searches:
        yield Points(tuple(answer.sentences))
        if answer.rungs:
            yield from _table(answer, found)


def write_ladder(folder: RunFolder, run: Run, found: TunesFound) -> None:
    """The files that tell it, in the run folder."""
    for name, data in files_of(run, found):
        folder.write(name, data)


def ladder_code(found: TunesFound) -> int:
    """1 where a search has no answer."""
    return int(any(not answer.rungs or not answer.over for _, answer in found.searches))


def _table(answer: TuneAnswer, found: TunesFound) -> Iterator[Block]:
    goal = found.goal
    heading = "inputs/s" if goal.rate else goal.name
    headings = ["step", heading, "times better", "than default", "error"]
    if goal.kept is not None:
        headings.append(goal.kept.name)
    top1 = any(rung.top1 is not None for rung in answer.rungs)
    headings += ["top-1"] * top1
    yield Heading(f"{answer.model}: {answer.goal}, step by step", 3)
    yield table(
        (*names("step"), Column(heading), *names(*headings[2:4]), *map(Column, headings[4:])),
        [(*_cells(rung, found), *[_top1(rung)] * top1) for rung in answer.rungs],
    )


def _cells(rung: Rung, found: TunesFound) -> Iterator[str]:
    yield rung.label
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
