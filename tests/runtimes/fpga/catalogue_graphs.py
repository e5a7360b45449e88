"""The catalogue's networks as graphs of the card, without running any of them.

Torch writes each graph once, at the catalogue's sizes; expected outputs are not computed. A folder
keeps the files, so that predictions can be renewed in seconds. Its older exporter takes seconds
where the one of the catalogue takes minutes; a test compares what the card makes of both. Unrolled
LSTMs differ, so those are exported as the catalogue does.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from exporters import install_layout
from exporters.models import catalogue
from exporters.pytorch.to_onnx import Exporter
from exporters.types import Definition, GraphlapError
from runtimes.fpga.cards import card_keys, load_card
from runtimes.fpga.graph.graph import Graph
from runtimes.fpga.graph.importer import load


def graphs(folder: Path) -> Iterator[tuple[str, Graph | GraphlapError]]:
    """Each network that could fit a card, or why its graph is not available."""
    for name in catalogue.names():
        definition = catalogue.find(name)
        if _parameters()[name] > _most_weights():
            yield name, GraphlapError(f"{_parameters()[name]} weights fit no card")
            continue
        path = folder / f"{name}.onnx"
        try:
            if not path.is_file():
                export(definition, path, "new" if definition.family == "lstm" else "old")
            yield name, load(path, definition.axes)
        except GraphlapError as error:
            yield name, error


def _parameters() -> dict[str, int]:
    text = install_layout.asset("catalogue.csv").read_text("utf-8")
    return {row["name"]: int(row["parameters"] or 0) for row in csv.DictReader(text.splitlines())}


def _most_weights() -> int:
    cards = [load_card(key) for key in card_keys()]
    return max(card.tiles * card.block**2 for card in cards)


def export(definition: Definition, path: Path, exporter: Exporter) -> None:
    """Write the graph of a definition."""
    from exporters.pytorch.module import build
    from exporters.pytorch.to_onnx import deterministic_bytes, to_onnx

    shapes = _output_shapes(definition)
    model = to_onnx(definition, build(definition.factory), shapes, exporter=exporter)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(deterministic_bytes(model))


def _output_shapes(definition: Definition) -> dict[str, tuple[int | str, ...]]:
    """At the catalogue's sizes, from torch's meta device, where nothing is computed."""
    import torch

    from exporters.pytorch.module import build

    with torch.device("meta"), torch.no_grad():
        outputs = build(definition.factory)(
            *(
                torch.empty(spec.shape_at(definition.axes), dtype=getattr(torch, spec.dtype))
                for spec in definition.inputs
            )
        )
    output_list = outputs if isinstance(outputs, tuple) else (outputs,)
    return {
        name: tuple(output.shape)
        for name, output in zip(definition.outputs, output_list, strict=True)
    }
