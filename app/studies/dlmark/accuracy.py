"""Accuracy against throughput, both measured here: networks that are trained on digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from app.cases.column import number_of
from app.comparison.measured_case import MeasuredCase
from app.formatting import text
from app.present.document import Block, Column, Heading, Paragraph, Picture, Table
from app.present.figure import Axis, Figure
from app.studies.dlmark.figures import RATE, percent, picture_files, series_of
from app.studies.study import Found, Study, cell, lines_of

_PICTURE, _TOP1 = "accuracy.svg", "accuracy_top1"


def tables(results: Found) -> Iterator[Block]:
    """A line for each network and way of measuring it, the precision among them."""
    accuracies = (results.run.accuracy_of(measurement.case) for measurement in results.measured)
    images = max((accuracy.images for accuracy in accuracies if accuracy is not None), default=0)
    yield Heading("Accuracy against throughput, both measured")
    yield Paragraph(
        f"Top-1 on {images or 'the'} images that no network was trained on, computed by the "
        "runtime of the line in its precision. Lines with outputs outside the tolerance of their "
        "type are included: top-1 shows the effect."
    )
    yield Picture(_PICTURE, "measured top-1 over measured images a second")
    names = tuple(Column(name, is_name=True) for name in ("model", "device"))
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
    yield Table((*names, *figures), rows)
    untested_count = sum(
        measurement.summary is not None and results.run.accuracy_of(measurement.case) is None
        for measurement in results.measured
    )
    if untested_count:
        yield Paragraph(
            f"Top-1 is not measured yet: {text.counted(untested_count, 'line')}. Resume the run."
        )


def files(results: Found) -> Mapping[str, bytes]:
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
    return picture_files({_PICTURE: (figure,)})


def _cell(measurement: MeasuredCase, column: str, as_text: Callable[[float | None], str]) -> str:
    """As elsewhere, but for what runs and is off: here that is a question, and no fault."""
    if measurement.row["status"] != "wrong_output":
        return cell(measurement, column, as_text)
    return as_text(number_of(measurement.row[column]))


STUDY = Study(
    name="dlmark/accuracy",
    title="Accuracy against throughput",
    repeats=(
        "Perceptrons and convolutional networks of six widths, trained on scikit-learn's digits, "
        "a data set that ships with it, unlike ImageNet. Batch 64, as in the study."
    ),
    tables=tables,
    files=files,
)
