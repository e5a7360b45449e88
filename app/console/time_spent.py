"""What a run spent its time on: one line at its end, a table with `--time`."""

from __future__ import annotations

from collections.abc import Iterator

from app.present.document import Block, Cell, Column, Note, Paragraph, Table
from app.results import text
from app.results.run import Run
from app.results.time_spent import Part, TimeParts, time_parts

NAMED_SHARE = 0.05
"""Parts of so much of the time are named in the line."""


def time_line(run: Run) -> str:
    """`time: 11.9 s: measurement 34 %, process start 21 %, …`; empty where it is not recorded."""
    found = time_parts(run)
    if found is None:
        return ""
    named = [part for part in found.parts if found.share(part) >= NAMED_SHARE]
    words = [f"{part.what} {_share(found, part)}" for part in named]
    others = found.total_s - sum(part.seconds for part in named)
    if len(named) < len(found.parts):
        words.append(f"other {text.share(others / found.total_s)}")
    return f"time: {text.duration(found.total_s)}: {', '.join(words)}"


def time_blocks(run: Run) -> Iterator[Block]:
    """A row for each part, with a column for each runtime."""
    found = time_parts(run)
    if found is None:
        yield Note(
            "time",
            "this run recorded no times: it was ended from outside, or by an earlier version",
        )
        return
    yield Paragraph(f"This run took {text.duration(found.total_s)}.")
    runtimes = found.runtimes
    yield Table(
        (
            Column("part", is_name=True),
            Column("time"),
            Column("share"),
            *(Column(runtime, priority=1) for runtime in runtimes),
        ),
        tuple(
            (
                part.what,
                Cell(text.time_text(part.seconds), part.seconds, unit="s"),
                Cell(_share(found, part), found.share(part)),
                *(_of_runtime(part, runtime) for runtime in runtimes),
            )
            for part in found.parts
        ),
        is_main=True,
    )


def _share(found: TimeParts, part: Part) -> str:
    return text.share(found.share(part))


def _of_runtime(part: Part, runtime: str) -> Cell | str:
    seconds = part.by_runtime.get(runtime)
    return "" if seconds is None else Cell(text.time_text(seconds), seconds, unit="s")
