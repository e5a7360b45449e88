"""How latency grows with idleness, as tables: a line for each gap, two columns for each runtime."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.present.document import Block, Column, Heading, table
from app.results import text
from app.results.gap_curves import Idleness

_SHOWN = ("p50", "p99")


def gap_tables(found: Sequence[Idleness]) -> Iterator[Block]:
    """One for each model and sizes."""
    for idle in found:
        yield Heading(f"latency after a pause: {idle.what}", 3)
        yield table(
            (
                Column("pause"),
                *(Column(name, curve.of) for curve in idle.curves for name in _SHOWN),
            ),
            [
                (text.latency(gap_us) if gap_us else "none", *_cells(idle, gap_us))
                for gap_us in idle.gaps_us
            ],
        )


def _cells(idle: Idleness, gap_us: float) -> Iterator[str]:
    for curve in idle.curves:
        point = next((point for point in curve.points if point.gap_us == gap_us), None)
        yield text.latency(point.p50_us if point else None)
        yield text.latency(point.p99_us if point else None)
