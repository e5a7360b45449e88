"""The parts of dlmark's study but throughput: accuracy, devices, largest batch; what all share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.comparison.published_figures import zoo_rows
from app.cases.column import number_of
from app.cases.jobs import AccuracyResult
from app.formatting import text
from app.present.answer import answers
from app.present.document import Block, Column, Heading, Paragraph, Picture, names, table
from app.present.figure import Axis, Figure, Kind, Mark, Series, Symbol
from app.present.studies.study import (
    NOT_RUN,
    Found,
    Study,
    batch_sizes,
    case_at,
    cell,
    figure,
    lines_of,
)
from app.present.svg import FILE_LOOK, svg_document
from app.run_folder.run import Run

Points = tuple[tuple[float, float, str], ...]
"""(x, y, what the point is), ascending in x where they are joined."""
_COLORS = len(FILE_LOOK.colors)
_SYMBOLS: tuple[Symbol, ...] = ("circle", "diamond")


def series_of(points: Mapping[str, Points], kind: Kind = "line") -> tuple[Series, ...]:
    """A series for each name that has points, each with another colour, or other dashes and
    another symbol."""
    nonempty_lines = [(name, places) for name, places in points.items() if places]
    return tuple(
        Series(
            name,
            tuple(Mark(x, y, text) for x, y, text in places),
            kind,
            number % _COLORS,
            number // _COLORS,
            _SYMBOLS[number // _COLORS % len(_SYMBOLS)],
        )
        for number, (name, places) in enumerate(nonempty_lines)
    )


def picture_files(pictures: Mapping[str, Sequence[Figure]]) -> dict[str, bytes]:
    """Files by their names, of figures with two places or more; a name without any is left out."""
    files = {}
    for name, figures in pictures.items():
        visible_figures = [
            plot for plot in figures if len({(mark.x, mark.y) for mark in plot.marks}) > 1
        ]
        if visible_figures:
            files[name] = svg_document(visible_figures)
    return files


RATE, MEMORY = "throughput_per_s", "rss_peak_mib"


def models(results: Found) -> list[str]:
    """Those of the run, in the plan's order."""
    return list(dict.fromkeys(measurement.case.model for measurement in results.measured))


def over_batch(line: Sequence[MeasuredCase], model: str, column: str) -> Points:
    """(batch, figure, in words) of what a line measured of a network, ascending."""
    batch_values = (
        (batch, figure(case_at(line, model, batch), column)) for batch in batch_sizes(line)
    )
    return tuple(
        (float(batch), value, f"{model} at batch {batch}: {text.significant(value)}")
        for batch, value in batch_values
        if value is not None
    )


def percent(share: float | None) -> str:
    """Of a share from 0 to 1."""
    return text.NOT_MEASURED if share is None else f"{100 * share:.2f} %"


def mib(value: float | None) -> str:
    """Of MiB, without the unit."""
    return text.NOT_MEASURED if value is None else f"{value:,.0f}"


_ACCURACY_PICTURE, _TOP1 = "accuracy.svg", "accuracy_top1"


def accuracy_tables(results: Found) -> Iterator[Block]:
    """A line for each network and way of measuring it, the precision among them."""
    accuracies = (
        results.run.result_of(AccuracyResult, measurement.case) for measurement in results.measured
    )
    images = max((accuracy.images for accuracy in accuracies if accuracy is not None), default=0)
    yield Heading("Accuracy against throughput, both measured")
    yield Paragraph(
        f"Top-1 on {images or 'the'} images that no network was trained on, computed by the "
        "runtime of the line in its precision. Lines with outputs outside the tolerance of their "
        "type are included: top-1 shows the effect."
    )
    yield Picture(_ACCURACY_PICTURE, "measured top-1 over measured images a second")
    rows = tuple(
        (
            measurement.case.model,
            label,
            _cell(measurement, RATE, text.rate_text),
            _cell(measurement, _TOP1, percent),
            _cell(measurement, "max_rel_error", text.share),
        )
        for label, line in lines_of(results.measured, by_batch=True).items()
        for measurement in line
    )
    figures = map(Column, ("images/s", "top-1", "off by, of the largest output"))
    yield table((*names("model", "device"), *figures), rows)
    untested_count = sum(
        measurement.summary is not None
        and results.run.result_of(AccuracyResult, measurement.case) is None
        for measurement in results.measured
    )
    if untested_count:
        yield Paragraph(
            f"Top-1 is not measured yet: {text.counted(untested_count, 'line')}. Resume the run."
        )


def accuracy_files(results: Found) -> Mapping[str, bytes]:
    """A point for each line, a colour for each way of measuring."""
    groups: dict[str, list[tuple[float, float, str]]] = {}
    for label, line in lines_of(results.measured, by_batch=True).items():
        for measurement in line:
            rate, top1 = (number_of(measurement.row[name]) for name in (RATE, _TOP1))
            if rate and top1:
                point_text = (
                    f"{measurement.case.model}: {text.rate_text(rate)}, top-1 {percent(top1)}"
                )
                groups.setdefault(label, []).append((rate, 100 * top1, point_text))
    figure = Figure(
        "Top-1 accuracy over throughput",
        Axis("images per second", "count", "log"),
        Axis("top-1", "percent"),
        series_of({name: tuple(points) for name, points in groups.items()}, "points"),
    )
    return picture_files({_ACCURACY_PICTURE: (figure,)})


def _cell(measurement: MeasuredCase, column: str, as_text: Callable[[float | None], str]) -> str:
    """As elsewhere, but for what runs and is off: here that is a question, and no fault."""
    if measurement.row["status"] != "wrong_output":
        return cell(measurement, column, as_text)
    return as_text(number_of(measurement.row[column]))


ACCURACY = Study(
    name="dlmark/accuracy",
    title="Accuracy against throughput",
    repeats=(
        "Perceptrons and convolutional networks of six widths, trained on scikit-learn's digits, "
        "a data set that ships with it, unlike ImageNet. Batch 64, as in the study."
    ),
    tables=accuracy_tables,
    files=accuracy_files,
)


_DEVICES_PICTURE = "devices.svg"


def devices_tables(results: Found) -> Iterator[Block]:
    """A line for each network and batch size, a column for each device."""
    yield Heading("Throughput by device (images/s)")
    yield Picture(_DEVICES_PICTURE, "images a second over the batch size, a curve for each device")
    lines = lines_of(results.measured)
    rows = tuple(
        (
            model,
            str(batch),
            *(cell(case_at(line, model, batch), RATE, text.rate_text) for line in lines.values()),
        )
        for model in models(results)
        for batch in batch_sizes(results.measured)
    )
    yield table((*names("model"), *map(Column, ("batch", *lines))), rows)


def devices_files(results: Found) -> Mapping[str, bytes]:
    """One picture with a plot for each network."""
    lines = lines_of(results.measured)
    figures = tuple(
        Figure(
            f"Throughput of {model} by batch size",
            Axis("batch size", "count", "log"),
            Axis("images per second", "count", "log"),
            series_of({name: over_batch(line, model, RATE) for name, line in lines.items()}),
        )
        for model in models(results)
    )
    return picture_files({_DEVICES_PICTURE: figures})


DEVICES = Study(
    name="dlmark/devices",
    title="Throughput by device",
    repeats=(
        "AlexNet and ResNet-v2-50, with which the study compares devices. The devices here are "
        "the runtimes of this machine, and the machines of a run on several."
    ),
    tables=devices_tables,
    files=devices_files,
)


_LARGEST_PICTURE = "largest.svg"


def largest_tables(results: Found) -> Iterator[Block]:
    """A line for each network's search."""
    limit = results.run.manifest.requested_plan.memory_limit
    yield Heading("Largest batch size")
    yield Paragraph(
        f"A measuring process may hold {limit} of the host's memory. The memory of earlier tries "
        "predicts the next batch. The search ends with a batch that ran and one at most a 32nd "
        "larger that failed."
    )
    yield Picture(_LARGEST_PICTURE, "the largest batch of each network, one mark for each family")
    figures = map(Column, ("largest batch", "its memory (MiB)"))
    columns = (*names("model", "runtime"), *figures, *names("what ended it", "tried"))
    yield table(columns, (_largest_row(results, row) for row in _search_rows(results.run)))


def _search_rows(run: Run) -> Iterator[Mapping[str, Any]]:
    for answer in answers(run):
        yield from answer.rows()


def _largest_row(results: Found, row: Mapping[str, Any]) -> tuple[str, ...]:
    if not row["tried"]:
        return (row["model"], row["runtime"], NOT_RUN, "", "", "")
    memory = ""
    if row["case_id"]:
        memory = cell(results.one(lambda case: case.case_id == row["case_id"]), MEMORY, mib)
    ending = row["stopped_by"] if row["is_over"] else f"not over, {row['stopped_by']}"
    batch = str(row["largest_batch"] or text.NOT_MEASURED)
    return (row["model"], row["runtime"], batch, memory, ending, row["tried"])


def largest_files(results: Found) -> Mapping[str, bytes]:
    """A point for each network whose search is over, over its published parameters."""
    groups: dict[str, list[tuple[float, float, str]]] = {}
    rows = {row.model: row for row in zoo_rows()}
    for search in _search_rows(results.run):
        model, fits = search["model"], search["largest_batch"]
        if model in rows and fits and search["is_over"]:
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
    return picture_files({_LARGEST_PICTURE: (figure,)})


LARGEST = Study(
    name="dlmark/largest",
    title="The largest batch",
    repeats=(
        "The largest batch that runs shows how much memory a network needs, whatever the engine's "
        "pools hold. A CPU has no separate memory, so the limit is set by the study."
    ),
    tables=largest_tables,
    files=largest_files,
)
