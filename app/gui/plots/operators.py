"""Where the time of one inference goes: a bar per operator or per kind of operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from app.cases.jobs import OperatorTimes
from app.formatting.text import CLOCK_TEXT, amount, significant, time_text
from app.gui.look.choice import Choice
from app.gui.look.csv_file import Table
from app.gui.plots.bars import Bar
from app.gui.plots.barview import BarView
from app.gui.plots.legend import Entry
from app.gui.plots.style import SeriesStyle
from app.runs.following.state import CaseDetails
from runtimes.execution import Clock

MOST_ROWS = 60


@dataclass(frozen=True, slots=True)
class OperatorTime:
    """One node of the executed graph; `share` of the whole inference, from 0 to 1.

    `engine` ran it, and calls it `called`. The other fields are those of
    `app.cases.jobs.Operator` and of its resources.
    """

    node: str
    op: str
    time_us: float
    share: float
    engine: str
    called: str = ""
    macs: int | None = None
    bytes_moved: int | None = None
    peak_share: float | None = None
    in_use_bytes: int | None = None
    wait_us: float | None = None


class OperatorsView(BarView):
    """The slowest operators on top, coloured by the engine that ran them."""

    title = "Operators"
    hint = "The time that each operator of the graph takes, as the runtime's profiler tells it."

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[OperatorTime, ...] = ()
        self._name = self._reason = ""
        self._runs = 0
        self._clock: Clock = "wall"
        self.group_choice = Choice(
            "Group",
            {"node": "Each operator", "op": "By kind of operator"},
            "One bar for each node of the graph, or one for all nodes of a kind.",
        )
        self.value_choice = Choice(
            "Show",
            {"time": "Time", "memory": "Memory in use"},
            "The time of each operator, or what the engine has in use at its end.",
        )
        self.add_controls(self.group_choice, self.value_choice)

    def set_details(self, details: CaseDetails, label: str) -> None:
        """Show the case's operators; nothing yet if none were recorded."""
        profile = details.operators
        if profile is None:
            self.set_operators((), label, "wall")
            return
        engine = details.engine or details.case.runtime
        rows = operator_times(profile, engine, details.elsewhere)
        self.set_operators(rows, label, profile.clock, profile.runs, profile.reason)

    def set_operators(
        self,
        rows: Sequence[OperatorTime],
        name: str,
        clock: Clock,
        runs: int = 0,
        reason: str = "",
    ) -> None:
        """Show these, medians over `runs` runs; `name` says whose they are.

        Without rows, `reason` tells why the profiler gave none, if it was asked.
        """
        self._rows, self._name, self._clock = tuple(rows), name, clock
        self._runs, self._reason = runs, reason
        self.mark_dirty()

    def draw(self) -> str:
        if not self._rows:
            if self._reason:
                return f"No operator profile of {self._name}: {self._reason}"
            return "No operator profile. A run has one if “Operator times” was checked."
        if self.value_choice.value == "memory":
            return self._draw_memory()
        rows = self._grouped()
        rows.sort(key=lambda row: -row.time_us)
        engines = sorted({row.engine for row in rows})
        palette = list(self.theme.runtimes.values())
        styles = {
            engine: SeriesStyle(QColor(palette[k % len(palette)]), self._clock == "simulated")
            for k, engine in enumerate(engines)
        }
        bars = [
            Bar(
                row.op if row.op == row.node else f"{row.op}  {row.node}",
                row.time_us,
                f"{time_text(row.time_us * 1e-6)}  {significant(100.0 * row.share)} %"
                + ("" if row.peak_share is None else f"  {row.peak_share:.0%} of peak")
                + (f"  {row.called}" if row.called not in ("", row.node, row.op) else ""),
                styles[row.engine],
            )
            for row in rows[:MOST_ROWS]
        ]
        self.show_bars(bars, None, "Time in one inference (µs)", log=False)
        self.show_legend(
            [Entry(engine, styles[engine].pen(), styles[engine].fill(150)) for engine in engines]
        )
        how = f", medians of {self._runs:,} profiled runs" if self._runs else ""
        rest = f"; the slowest {MOST_ROWS} of {len(rows)}" if len(rows) > MOST_ROWS else ""
        self.show_heading(f"Operators of {self._name}", f"{CLOCK_TEXT[self._clock]}{how}{rest}")
        return ""

    def _draw_memory(self) -> str:
        """Bars in the order of execution, with the high-water mark named in the heading."""
        known = [(row, row.in_use_bytes) for row in self._rows if row.in_use_bytes is not None]
        if not known:
            return f"The engine of {self._name} does not account for memory at each operator."
        most = max(size for _, size in known)
        highest = next(row for row, size in known if size == most)
        plain = QColor(next(iter(self.theme.runtimes.values())))
        is_simulated = self._clock == "simulated"
        styles = {
            True: SeriesStyle(QColor(self.theme.warning), is_simulated),
            False: SeriesStyle(plain, is_simulated),
        }
        bars = [
            Bar(
                row.op if row.op == row.node else f"{row.op}  {row.node}",
                size,
                amount(size, "B"),
                styles[row is highest],
            )
            for row, size in known[:MOST_ROWS]
        ]
        self.show_bars(bars, None, "In use at the end of the operator (bytes)", log=False)
        self.show_legend([])
        rest = f"; the first {MOST_ROWS} of {len(known)}" if len(known) > MOST_ROWS else ""
        self.show_heading(
            f"Memory of {self._name}", f"most {amount(most, 'B')}, at {highest.node}{rest}"
        )
        return ""

    def _grouped(self) -> list[OperatorTime]:
        if self.group_choice.value == "node":
            return list(self._rows)
        totals: dict[tuple[str, str], list[OperatorTime]] = {}
        for row in self._rows:
            totals.setdefault((row.op, row.engine), []).append(row)
        return [
            OperatorTime(op, op, sum(r.time_us for r in rows), sum(r.share for r in rows), engine)
            for (op, engine), rows in totals.items()
        ]

    def table(self) -> Table:
        names = [field.name for field in fields(OperatorTime)]
        return names, [[getattr(row, name) for name in names] for row in self._grouped()]


def operator_times(
    profile: OperatorTimes, engine: str, elsewhere: Mapping[str, str]
) -> list[OperatorTime]:
    """A recorded profile's rows; `elsewhere` names the engines of nodes that `engine` left."""
    total_us = profile.total_us
    return [
        OperatorTime(
            op.node,
            op.op,
            op.time_us,
            op.time_us / total_us if total_us else 0.0,
            elsewhere.get(op.node, engine),
            op.engine_name,
            op.macs,
            op.bytes_moved,
            op.peak_share,
            op.resources.in_use_bytes,
            op.resources.wait_us,
        )
        for op in profile.ops
    ]
