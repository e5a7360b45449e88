"""Throughput by device: two networks on all of this machine's runtimes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from app.present.document import Block, Column, Heading, Picture, Table
from app.present.figure import Axis, Figure
from app.results import text
from app.studies.dlmark.cells import RATE, at, batches, models, over_batch, runtimes
from app.studies.found import Found, cell
from app.studies.pictures import picture_files, series_of
from app.studies.study import Study

_PICTURE = "devices.svg"


def tables(found: Found) -> Iterator[Block]:
    """A line for each network and batch size, a column for each device."""
    yield Heading("Throughput by device (images/s)")
    yield Picture(_PICTURE, "images a second over the batch size, a curve for each device")
    devices = runtimes(found)
    rows = tuple(
        (
            model,
            str(batch),
            *(cell(at(found, model, batch, device), RATE, text.rate_text) for device in devices),
        )
        for model in models(found)
        for batch in batches(found)
    )
    yield Table((Column("model", is_name=True), Column("batch"), *map(Column, devices)), rows)


def files(found: Found) -> Mapping[str, bytes]:
    """One picture with a plot for each network."""
    figures = tuple(
        Figure(
            f"Throughput of {model} by batch size",
            Axis("batch size", "count", "log"),
            Axis("images per second", "count", "log"),
            series_of({name: over_batch(found, model, RATE, name) for name in runtimes(found)}),
        )
        for model in models(found)
    )
    return picture_files({_PICTURE: figures})


STUDY = Study(
    name="dlmark/devices",
    title="Throughput by device",
    repeats=(
        "AlexNet and ResNet-v2-50, the two that the study compares devices with; the devices are "
        "the runtimes of this machine."
    ),
    tables=tables,
    files=files,
)
