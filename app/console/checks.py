"""The result of a check: a word for each model on each runtime, and a line for each reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from app.cases.column import Row
from app.cases.status import STATUSES, TONES, WELL, Tone
from app.console.said import said
from app.present.document import Block, Cell, Column, Note, Paragraph, Table, names
from app.present.terminal import GAP, NAME_WIDTH
from app.present.wrapping import width_of_text
from app.results.checking import Matrix, matrix, word
from app.results.measured import Measured

NOWHERE = "unavailable"
NO_FIGURE = "compile_ms of results.csv is no measurement: --cold-start measures compiling"


def check_blocks(measured: Sequence[Measured], width: int) -> Iterator[Block]:
    """The matrix in tables of at most so many columns, one below another. A runtime that is not on
    this machine has no column, only its reason."""
    here = [one for one in measured if one.row["status"] != NOWHERE]
    if here:
        yield Paragraph("")
        yield from _tables(matrix([one.case for one in here]), [one.row for one in here], width)
    found = said(measured)
    for doubt in found.doubts:
        yield Note("note", doubt)
    for why in found.causes:
        tone = TONES[why.status]
        yield Note(why.status.replace("_", " "), why.sentence, tone, why.status)
    if any(one.row["status"] in WELL for one in measured):
        yield Paragraph(NO_FIGURE, "quiet")


def summary(rows: Sequence[Row]) -> str:
    """`12 cases: 9 compiles, 3 unsupported`, the best first."""
    counted = Counter(str(row["status"]) for row in rows)
    order = [name for name in reversed(STATUSES) if name in counted]
    told = ", ".join(f"{counted[name]} {name.replace('_', ' ')}" for name in order)
    return f"{len(rows)} case{'s' * (len(rows) != 1)}: {told}"


def words(found: Matrix, rows: Sequence[Row]) -> list[list[str]]:
    """The matrix's words by row and column, empty where there is no case."""
    cells = [[""] * len(found.columns) for _ in found.rows]
    for row in rows:
        down, across = found.places[str(row["case_id"])]
        cells[down][across] = word(str(row["status"]), row["check_level"])
    return cells


def _tables(found: Matrix, rows: Sequence[Row], width: int) -> Iterator[Table]:
    """One below another where not all runtimes have room beside each other."""
    cells = words(found, rows)
    tones = {found.places[str(row["case_id"])]: _tone(row) for row in rows}
    widths = [
        max(width_of_text(name), *(len(own[at]) for own in cells))
        for at, name in enumerate(found.columns)
    ]
    left = list(range(len(found.columns)))
    names_width = min(NAME_WIDTH, max(map(width_of_text, found.rows)))
    while left:
        room = width - names_width
        part: list[int] = []
        while left and (not part or widths[left[0]] + GAP <= room):
            room -= widths[left[0]] + GAP
            part.append(left.pop(0))
        yield Table(
            (*names("model"), *(Column(found.columns[at], is_name=True) for at in part)),
            tuple(
                (name, *(Cell(own[at], tone=tones.get((down, at), "")) for at in part))
                for down, (name, own) in enumerate(zip(found.rows, cells, strict=True))
            ),
        )


def _tone(row: Row) -> Tone:
    return TONES[str(row["status"])]
