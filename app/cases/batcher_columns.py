"""The columns of a batcher: its setting, the batches that it made, the delay that it added."""

from __future__ import annotations

from app.cases.column import less, number, text

BATCHER = (
    text(
        "batcher",
        "Batcher",
        "The dynamic batcher before the model: the most requests that are sent together, and how "
        "long the oldest waits for others.",
        group="settings",
        family="identity",
    ),
    number(
        "batch_size_mean",
        "Mean batch",
        "",
        "The mean number of requests in a batch.",
        group="throughput",
    ),
    number(
        "batch_fill_fraction",
        "Batch fill",
        "",
        "The fraction of the places in the batches that held a request; the others were padding.",
        group="throughput",
    ),
    *(
        less(
            f"batcher_wait_{name}_us",
            f"Batcher {name} (µs)",
            "us",
            f"{meaning} of what the batcher added: how long a request waited while the server was "
            "free.",
        )
        for name, meaning in (("p50", "The median"), ("p99", "p99"))
    ),
)
