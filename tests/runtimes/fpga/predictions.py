"""Predictions for the newest link table: every catalogue network that a card holds, and batches.

`python -m tests.runtimes.fpga.predictions` writes runtimes/fpga/predictions_sdk27.csv and says of
the other networks why no card holds them.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from exporters import install_layout
from exporters.messages import ExportRequest
from exporters.models import catalogue
from exporters.types import GraphlapError
from exporters.worker import export
from runtimes import fpga
from runtimes.errors import Unsupported
from runtimes.execution import AfterCompletion
from runtimes.fpga.card.compiler import compile_lowered
from runtimes.fpga.card.timing import fidelity, latency_us, simulate, transfer
from runtimes.fpga.cards import card_keys, load_card
from runtimes.fpga.graph.graph import Graph
from runtimes.fpga.graph.importer import load
from runtimes.fpga.lower import lower
from tests.runtimes.fpga.graphs import cnn_step, lstm_step, mlp
from tests.runtimes.fpga.published import read_rows

RELEASE = "sdk27"
FILE = Path(fpga.__file__).parent / f"predictions_{RELEASE}.csv"
_WIDTHS = (256, 384, 384, 128)
_BATCHES = (2, 4, 8, 16, 32, 64, 128, 256)
_HEADER = ("model", "batch", "card", "release", "link", "mean_us", "p99_us", "fidelity")
_SPACED_NS, _REQUESTS = 20_000, 20_000

Network = tuple[str, int, Graph]


def table_networks() -> Iterator[Network]:
    """Each network of the published tables, made without torch, and the perceptron."""
    for row in {row.model: row for row in read_rows()}.values():
        step = cnn_step if row.family == "cnn" else lstm_step
        yield row.model, 1, step(row.layers, row.width).graph()
    yield "mlp", 1, mlp(*_WIDTHS).graph()


def batches() -> Iterator[Network]:
    """The perceptron by batch size."""
    for batch in _BATCHES:
        yield "mlp", batch, mlp(*_WIDTHS, batch=batch).graph()


def rows(networks: Iterable[Network]) -> Iterator[tuple[str, ...]]:
    """A row for each network and each card that holds it."""
    for model, batch, graph in networks:
        try:
            lowered_graph = lower(graph)
        except Unsupported as error:
            sys.stderr.write(f"{model}: {error}\n")
            continue
        for key in card_keys():
            try:
                program = compile_lowered(lowered_graph, load_card(key), RELEASE)
            except Unsupported as error:
                sys.stderr.write(f"{model} on {key}: {error}\n")
                continue
            rng = np.random.default_rng(1)
            samples = simulate(program, AfterCompletion(_REQUESTS, _SPACED_NS), rng)
            p99_us = float(np.percentile(samples.latency_ns, 99)) / 1e3
            link = transfer(program)
            figures = (f"{latency_us(program):.3f}", f"{p99_us:.3f}")
            way = link.way if link else ""
            yield model, str(batch), key, RELEASE, way, *figures, fidelity(program).word


def catalogue_networks(folder: Path) -> Iterator[Network]:
    """All networks of the catalogue at its sizes whose weights could fit a card."""
    most_weights = max(card.tiles * card.block**2 for card in map(load_card, card_keys()))
    table = install_layout.asset("catalogue.csv").read_text("utf-8").splitlines()
    weights = {row["name"]: int(row["parameters"] or 0) for row in csv.DictReader(table)}
    for name in catalogue.names():
        if weights[name] > most_weights:
            sys.stderr.write(f"{name}: {weights[name]} weights fit no card\n")
            continue
        try:
            model, _ = export(ExportRequest(name, cache_dir=str(folder)))
            yield name, 1, load(model.path, model.axes)
        except GraphlapError as error:
            sys.stderr.write(f"{name}: {error}\n")


def text(folder: Path) -> str:
    """The file."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEADER)
    writer.writerows(rows(catalogue_networks(folder)))
    writer.writerows(rows(batches()))
    return out.getvalue()


def main() -> None:
    with TemporaryDirectory() as folder:
        FILE.write_text(text(Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
