"""Throughput by device: two networks on all of this machine's runtimes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from app.formatting import text
from app.present.document import Block, Column, Heading, Picture, Table
from app.present.figure import Axis, Figure
from app.studies.dlmark.figures import RATE, models, over_batch, picture_files, series_of
from app.studies.study import Found, Study, batch_sizes, case_at, cell, lines_of

_PICTURE = "devices.svg"


def tables(results: Found) -> Iterator[Block]:
    """A line for each network and batch size, a column for each device."""
    yield Heading("Throughput by device (images/s)")
    yield Picture(_PICTURE, "images a second over the batch size, a curve for each device")
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
    yield Table((Column("model", is_name=True), Column("batch"), *map(Column, lines)), rows)


def files(results: Found) -> Mapping[str, bytes]:
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
    return picture_files({_PICTURE: figures})


STUDY = Study(
    name="dlmark/devices",
    title="Throughput by device",
    repeats=(
        "AlexNet and ResNet-v2-50, with which the study compares devices. The devices here are "
        "the runtimes of this machine, and the machines of a run on several."
    ),
    tables=tables,
    files=files,
)
