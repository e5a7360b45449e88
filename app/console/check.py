"""The result of a check: a table of models by runtimes with reasons, and a page in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from app.cases.column import Row
from app.cases.status import STATUSES, TONES, WELL, Tone
from app.comparison.measured_case import Measured
from app.console.run_summary import said
from app.plot_data.matrix import Matrix, matrix, word
from app.present.document import Block, Cell, Column, Note, Paragraph, Table, names
from app.present.markdown import escaped
from app.present.terminal import GAP, NAME_WIDTH, width_of_text
from app.run_folder.hosts import environments
from app.run_folder.run import Run

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


_NO_SUITE = "models"


def check_page(run: Run, measured: Sequence[Measured]) -> Iterator[str]:
    """Its lines: what ran it, a table for each suite of the models, and every reason once."""
    manifest = run.manifest
    rows = [one.row for one in measured]
    yield f"# Will it run there: {escaped(manifest.name)}"
    yield ""
    date, version = manifest.created_at_utc[:10], manifest.graphlap_version
    hosts = environments(manifest, run.environments, rows).values()
    cpus = dict.fromkeys(str(host["cpu"]) for host in hosts if host.get("cpu"))
    cpu = escaped(" and ".join(cpus) or "an unknown processor")
    yield f"Checked {date} with Graphlap {version} on {cpu}:"
    yield "compiled for each runtime as far as that machine could, and nothing timed."
    yield f"{summary(rows)}."
    yield ""
    yield "| runtime | version |"
    yield "| --- | --- |"
    for runtime, version in _versions(rows).items():
        yield f"| {escaped(runtime)} | {escaped(version) or 'not on this machine'} |"
    here = [one for one in measured if one.row["status"] != NOWHERE]
    for suite in dict.fromkeys(one.case.suite for one in here):
        yield ""
        yield f"## {escaped(suite) or _NO_SUITE}"
        yield ""
        yield from _table([one for one in here if one.case.suite == suite])
    found = said(measured).causes
    if found:
        yield ""
        yield "## Why not"
        yield ""
        for why in found:
            yield f"- **{why.status.replace('_', ' ')}**, {escaped(why.sentence)}"


def _versions(rows: Sequence[Row]) -> dict[str, str]:
    """By runtime the version of its engine, as any of its rows tells it."""
    told: dict[str, str] = {}
    for row in rows:
        name, version = str(row["runtime"]), str(row["runtime_version"] or "")
        told[name] = told.get(name) or version
    return told


def _table(measured: Sequence[Measured]) -> Iterator[str]:
    found = matrix([one.case for one in measured])
    cells = words(found, [one.row for one in measured])
    yield _line("model", *map(escaped, found.columns))
    yield _line(*["---"] * (1 + len(found.columns)))
    for name, told in zip(found.rows, cells, strict=True):
        yield _line(escaped(name), *told)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
