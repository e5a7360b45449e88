"""Throughput per device: one bar for each runtime that ran a chosen model, on each host.

What is simulated is a group below what is measured, over a scale of its own.
"""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.formatting.text import CLOCK_TEXT, is_too_noisy, rate_text
from app.gui.look.choice import Choice, Switch
from app.gui.look.csv_file import Table
from app.gui.plots.axes import CountAxis, count_axis
from app.gui.plots.bars import Bar
from app.gui.plots.barview import BarView
from app.gui.plots.case_spots import figure_text
from app.gui.plots.style import clocks_text, remark, series_styles
from app.plot_data.series import (
    Series,
    batches,
    interval_columns,
    number,
    of_batch,
    ranked,
    variants,
)


class DevicesView(BarView):
    """Inputs per second of one model at one batch size, the fastest of each clock on top."""

    title = "Devices"
    hint = "How many inputs a second each runtime and device takes of one model."

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model_choice = Choice("Model", {}, "The model whose runtimes are compared.")
        self.batch_choice = Choice("Batch", {}, "How many inputs one inference takes at once.")
        self.log_box = Switch(
            "Log scale", "For devices whose throughput differs by orders of magnitude.", on=False
        )
        self.simulated_box = Switch("Simulated", "Simulated cards too, in a group of their own.")
        self.add_controls(self.model_choice, self.batch_choice, self.simulated_box, self.log_box)

    def draw(self) -> str:
        simulated = self.simulated_box.isChecked()
        known = [
            one
            for one in ranked(self.series)
            if number(one, "throughput_per_s") and (simulated or one.clock != "simulated")
        ]
        self.model_choice.set_texts({one.model: one.model for one in known})
        of_model = [one for one in known if one.model == self.model_choice.value]
        self.batch_choice.set_texts(batches(of_model))
        shown = of_batch(of_model, self.batch_choice.value)
        if not shown:
            return "No finished closed-loop case yet: a case with gaps has no throughput."
        names, styles = variants(shown), series_styles(shown, self.theme)
        shown.sort(key=lambda one: -(number(one, "throughput_per_s") or 0.0))
        groups: dict[str, list[Bar]] = {}
        for clock in ("wall", "device", "simulated"):
            bars = [
                Bar(
                    _device(names[one.key], one.row.get("device_name")),
                    rate,
                    f"{rate_text(rate)}  {CLOCK_TEXT[one.clock]}{remark(one)}",
                    styles[one.key],
                    _interval(one),
                    (one.key,),
                    (figure_text(one, "throughput_per_s", "inputs"), one.label),
                )
                for one in shown
                if one.clock == clock and (rate := number(one, "throughput_per_s")) is not None
            ]
            if bars:
                groups[CLOCK_TEXT[clock].capitalize()] = bars
        log = self.log_box.isChecked()
        self.show_groups(
            groups if len(groups) > 1 else {"": next(iter(groups.values()))},
            lambda: count_axis("bottom") if log else CountAxis("bottom"),
            "Inputs per second",
            log=log,
        )
        self.show_legend([])
        batch_text = self.batch_choice.currentText().lower()
        self.show_heading(
            f"Throughput of {self.model_choice.value}",
            ", ".join(filter(None, (batch_text, clocks_text(shown)))),
        )
        return ""

    def table(self) -> Table:
        columns = ["model", "runtime", "host", "device_name", "clock", "batch_size"]
        columns += ["throughput_per_s"]
        columns += interval_columns("throughput_per_s")
        return columns, [[one.row.get(name) for name in columns] for one in ranked(self.series)]


def _interval(series: Series) -> tuple[float, float] | None:
    low, high = (number(series, name) for name in interval_columns("throughput_per_s"))
    return (low, high) if low and high and not is_too_noisy(low, high) else None


def _device(name: str, device: object) -> str:
    return f"{name}, {device}" if device else name
