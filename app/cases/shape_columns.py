"""The columns of a session that serves several shapes."""

from __future__ import annotations

from app.cases.column import count, less, number, text

SHAPES = (
    count(
        "shapes",
        "Shapes",
        "How many shapes the session serves; latencies are of all together.",
        group="settings",
    ),
    text(
        "shapes_sha256",
        "Shapes sha256",
        "Names which shapes came and in which order: the sha256 of the rounds' own, a line each.",
        group="other",
    ),
    count(
        "first_runs",
        "First seen",
        "First runs of a shape, in each process one of every shape but that of its very first run.",
        group="other",
    ),
    less(
        "first_run_p50_us",
        "First seen p50 (µs)",
        "us",
        "The median of these runs, empty where they are too few to bound it.",
    ),
    less(
        "first_run_p99_us",
        "First seen p99 (µs)",
        "us",
        "99 of 100 of these runs took at most so long, likewise.",
    ),
    number(
        "first_run_slowdown",
        "First to seen",
        "",
        "A first run over the median of its shape's later ones in that process: the median of all.",
    ),
)
