"""Predictions for the newest link table, for networks of the VOLLO tables and batched MLPs.

`python -m tests.runtimes.fpga.predictions` writes runtimes/fpga/predictions_sdk27.csv.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from runtimes import fpga
from runtimes.execution import AfterCompletion
from runtimes.faults import Unsupported
from runtimes.fpga.card.compiler import compile_graph
from runtimes.fpga.card.timing import fidelity, latency_us, simulate
from runtimes.fpga.card.transfers import transfer
from runtimes.fpga.cards import card_keys, load_card
from tests.runtimes.fpga.graphs import ModelBuilder, cnn_step, lstm_step, mlp
from tests.runtimes.fpga.published import read_rows

RELEASE = "sdk27"
FILE = Path(fpga.__file__).parent / f"predictions_{RELEASE}.csv"
_WIDTHS = (256, 384, 384, 128)
_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_HEADER = ("model", "batch", "card", "release", "link", "mean_us", "p99_us", "fidelity")
_SPACED_NS, _REQUESTS = 20_000, 20_000


def networks() -> Iterator[tuple[str, int, ModelBuilder]]:
    """Each network of the tables once, then the MLP by batch size."""
    made = {row.model: row for row in read_rows()}
    for row in made.values():
        step = cnn_step if row.family == "cnn" else lstm_step
        yield row.model, 1, step(row.layers, row.width)
    for batch in _BATCHES:
        yield "mlp", batch, mlp(*_WIDTHS, batch=batch)


def text() -> str:
    """The file: a row for each network and each card that holds it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEADER)
    for model, batch, builder in networks():
        graph = builder.graph()
        for key in card_keys():
            try:
                compiled = compile_graph(graph, load_card(key), RELEASE)
            except Unsupported:
                continue
            rng = np.random.default_rng(1)
            samples = simulate(compiled, AfterCompletion(_REQUESTS, _SPACED_NS), rng)
            p99_us = float(np.percentile(samples.latency_ns, 99)) / 1e3
            link = transfer(compiled)
            figures = (f"{latency_us(compiled):.3f}", f"{p99_us:.3f}")
            way = link.way if link else ""
            writer.writerow((model, batch, key, RELEASE, way, *figures, fidelity(compiled).word))
    return out.getvalue()


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
