"""How latency grows with idleness, as tables: a line for each gap, two columns for each runtime."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from app.console.tables import simple_table
from app.results import text
from app.results.gap_curves import Idleness
from app.results.plain import printable

if TYPE_CHECKING:
    from rich.table import Table

_SHOWN = ("p50", "p99")


def gap_tables(found: Sequence[Idleness]) -> Iterator[Table]:
    """One for each model and sizes."""
    for idle in found:
        table = simple_table(printable(f"latency after a pause: {idle.what}"), edge=False)
        table.add_column("pause", justify="right", no_wrap=True)
        for curve in idle.curves:
            for name in _SHOWN:
                table.add_column(f"{printable(curve.of)}\n{name}", justify="right")
        for gap_us in idle.gaps_us:
            table.add_row(text.latency(gap_us) if gap_us else "none", *_cells(idle, gap_us))
        yield table


def _cells(idle: Idleness, gap_us: float) -> Iterator[str]:
    for curve in idle.curves:
        point = next((point for point in curve.points if point.gap_us == gap_us), None)
        yield text.latency(point.p50_us if point else None)
        yield text.latency(point.p99_us if point else None)
