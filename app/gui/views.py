"""Every view of a run: where its dock stands by default, and what it is fed.

A literal table, so that adding a view is one line here and one file in `plots` or `tables`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from PySide6.QtWidgets import QWidget

from exporters import own

Page = Literal["measure", "results", "inspect"]
PAGES: dict[Page, tuple[str, str]] = {
    "measure": ("Measure", "Compose a sweep and watch its distributions grow (Ctrl+1)"),
    "results": ("Results", "Compare models, runtimes, devices and batch sizes (Ctrl+2)"),
    "inspect": ("Inspect", "Look into a model, and into the card that ran it (Ctrl+3)"),
}

Fed = Literal["shown", "all", "pair", "details"]
"""`shown`: the cases in flight or selected; `all`: every case; `pair`: this run and another;
`details`: one case's graph."""


@dataclass(frozen=True, slots=True)
class ViewSpec:
    """`target` is `module:Class`, imported when the window is built."""

    key: str
    title: str
    page: Page
    fed: Fed
    target: str

    def make(self) -> QWidget:
        make: Callable[[], QWidget] = own.load(self.target)
        return make()


VIEWS: tuple[ViewSpec, ...] = (
    ViewSpec("histogram", "Histogram", "measure", "shown", "app.gui.plots.histogram:HistogramView"),
    ViewSpec(
        "cumulative", "Cumulative", "measure", "shown", "app.gui.plots.cumulative:CumulativeView"
    ),
    ViewSpec(
        "percentiles", "Percentiles", "measure", "shown", "app.gui.plots.percentiles:PercentileView"
    ),
    ViewSpec("timeline", "Timeline", "measure", "shown", "app.gui.plots.timeline:TimelineView"),
    ViewSpec("boxes", "Box plots", "results", "shown", "app.gui.plots.boxes:BoxesView"),
    ViewSpec("batch", "Batch size", "results", "all", "app.gui.plots.batch:BatchView"),
    ViewSpec("devices", "Devices", "results", "all", "app.gui.plots.devices:DevicesView"),
    ViewSpec("heatmap", "Heat map", "results", "all", "app.gui.plots.heatmap:HeatmapView"),
    ViewSpec(
        "largest", "Largest batch", "results", "all", "app.gui.plots.largest:LargestBatchView"
    ),
    ViewSpec("accuracy", "Accuracy", "results", "all", "app.gui.plots.accuracy:AccuracyView"),
    ViewSpec("compare", "Compare", "results", "pair", "app.gui.plots.compare:CompareView"),
    ViewSpec("graph", "Model graph", "inspect", "details", "app.gui.plots.graph:GraphView"),
    ViewSpec(
        "schedule", "FPGA schedule", "inspect", "details", "app.gui.plots.schedule:ScheduleView"
    ),
    ViewSpec("profile", "Operators", "inspect", "details", "app.gui.plots.profile:ProfileView"),
)
