"""The largest batch that each network can run, and the memory that it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from app.capabilities.largest_batch.search import (
    Search,
    Try,
    largest_fit,
    searches_of,
    stopped_by,
    tries_of,
)
from app.comparison.published_figures import zoo_rows
from app.formatting import text
from app.present.document import Block, Column, Heading, Paragraph, Picture, Table
from app.present.figure import Axis, Figure
from app.studies.dlmark.figures import MEMORY, mib, picture_files, series_of
from app.studies.study import NOT_RUN, Found, Study, cell

_PICTURE = "largest.svg"


def tables(results: Found) -> Iterator[Block]:
    """A line for each network's search."""
    limit = results.run.manifest.requested_plan.memory_limit
    yield Heading("Largest batch size")
    yield Paragraph(
        f"A measuring process may hold {limit} of the host's memory. The memory of earlier tries "
        "predicts the next batch. The search ends with a batch that ran and one at most a 32nd "
        "larger that failed."
    )
    yield Picture(_PICTURE, "the largest batch of each network, one mark for each family")
    columns = (
        Column("model", is_name=True),
        Column("runtime", is_name=True),
        Column("largest batch"),
        Column("its memory (MiB)"),
        Column("what ended it", is_name=True),
        Column("tried", is_name=True),
    )
    tries = tries_of(results.run)
    rows = tuple(_row(results, search, tries) for search in searches_of(results.run))
    yield Table(columns, rows)


def _row(results: Found, search: Search, tries: Sequence[Try]) -> tuple[str, ...]:
    statuses, model = search.statuses(tries), search.base.model
    if not statuses:
        return (model, search.base.runtime, NOT_RUN, "", "", "")
    fits = largest_fit(statuses)
    is_over = search.next_case(tries) is None
    ending = stopped_by(statuses) if is_over else f"not over, {stopped_by(statuses)}"
    memory = ""
    if fits:
        fit_id = search.case_at(fits).case_id
        memory = cell(results.one(lambda case: case.case_id == fit_id), MEMORY, mib)
    batch_list = ", ".join(map(str, statuses))
    figures = str(fits or text.NOT_MEASURED), memory
    return (model, search.base.runtime, *figures, ending, batch_list)


def files(results: Found) -> Mapping[str, bytes]:
    """A point for each network whose search is over, over its published parameters."""
    tries = tries_of(results.run)
    groups: dict[str, list[tuple[float, float, str]]] = {}
    rows = {row.model: row for row in zoo_rows()}
    for search in searches_of(results.run):
        model, fits = search.base.model, largest_fit(search.statuses(tries))
        if model in rows and fits and search.next_case(tries) is None:
            parameters = rows[model].parameters
            point_text = f"{model}: batch {fits}, {text.count_tick(parameters)} parameters"
            groups.setdefault(rows[model].family, []).append((parameters, fits, point_text))
    families = {name: tuple(points) for name, points in groups.items()}
    figure = Figure(
        "Largest batch by the number of parameters",
        Axis("parameters", "count", "log"),
        Axis("largest batch size", "count", "log"),
        series_of(families, "points"),
    )
    return picture_files({_PICTURE: (figure,)})


STUDY = Study(
    name="dlmark/largest",
    title="The largest batch",
    repeats=(
        "The largest batch that runs shows how much memory a network needs, whatever the engine's "
        "pools hold. A CPU has no separate memory, so the limit is set by the study."
    ),
    tables=tables,
    files=files,
)
