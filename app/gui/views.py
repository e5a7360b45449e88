"""Every view of a run: where its dock stands by default, and what it is fed.

A literal table, so that adding a view is one line here and one file in `plots`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from app.capabilities.simulated_card.inference import CardRun
from app.gui.plots.arrangement import Arrangement
from app.gui.plots.base import PlotView
from app.history.run_comparison import RunSide
from app.history.trends import History
from app.plot_data.series import Series
from app.runs.following.state import CaseDetails
from exporters import install_layout
from exporters.types import GraphlapError

Page = Literal["measure", "results", "inspect"]
PAGES: dict[Page, tuple[str, str]] = {
    "measure": ("Measure", "Compose a sweep and watch its distributions grow (Ctrl+1)"),
    "results": ("Results", "Compare models, runtimes, devices and batch sizes (Ctrl+2)"),
    "inspect": ("Inspect", "Look into a model, and into the card that ran it (Ctrl+3)"),
}

Fed = Literal["shown", "all", "pair", "history", "details", "card"]
"""`shown`: the cases in flight or selected; `all`: every case; `pair`: this run and another;
`history`: all runs that lie beside this one; `details`: the graph and the operators of one case;
`card`: its schedule on the simulated card."""


@runtime_checkable
class SeriesView(Protocol):
    """Fed with `shown` or with `all`."""

    def set_series(self, series: Sequence[Series]) -> None: ...


@runtime_checkable
class PairView(Protocol):
    """Fed with a `pair`."""

    def set_runs(self, first: RunSide, second: RunSide, history: History | None = None) -> None: ...


@runtime_checkable
class PastView(Protocol):
    """Fed with `history`; `identity` is what makes the case that is looked at."""

    def set_history(self, found: History | GraphlapError) -> None: ...

    def set_case(self, identity: str, label: str) -> None: ...


@runtime_checkable
class DetailView(Protocol):
    """Fed with `details`; `label` is how the case is called beside the others of its run."""

    def set_details(self, details: CaseDetails, label: str) -> None: ...


@runtime_checkable
class CardView(Protocol):
    """Fed with a `card`'s answer; None while there is none."""

    def set_run(self, run: CardRun | None) -> None: ...


@dataclass(frozen=True, slots=True)
class ViewSpec:
    """`target` is `module:Class`, a PlotView that can be fed with what `fed` says."""

    key: str
    title: str
    page: Page
    fed: Fed
    target: str

    def make(self) -> PlotView:
        make: Callable[[], PlotView] = install_layout.load(self.target)
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
    ViewSpec("against", "Against", "results", "all", "app.gui.plots.against:AgainstView"),
    ViewSpec("load", "Load", "results", "all", "app.gui.plots.load:LoadView"),
    ViewSpec("devices", "Devices", "results", "all", "app.gui.plots.devices:DevicesView"),
    ViewSpec("heatmap", "Heat map", "results", "all", "app.gui.plots.heatmap:HeatmapView"),
    ViewSpec("checks", "Check", "results", "all", "app.gui.plots.checks:ChecksView"),
    ViewSpec(
        "largest", "Largest batch", "results", "all", "app.gui.plots.largest:LargestBatchView"
    ),
    ViewSpec("ladder", "Ladder", "results", "all", "app.gui.plots.ladder:LadderView"),
    ViewSpec("accuracy", "Accuracy", "results", "all", "app.gui.plots.accuracy:AccuracyView"),
    ViewSpec("compare", "Compare", "results", "pair", "app.gui.plots.compare:CompareView"),
    ViewSpec("history", "History", "results", "history", "app.gui.plots.history:HistoryView"),
    ViewSpec("graph", "Model graph", "inspect", "details", "app.gui.plots.graph:GraphView"),
    ViewSpec("schedule", "FPGA schedule", "inspect", "card", "app.gui.plots.schedule:ScheduleView"),
    ViewSpec(
        "operators", "Operators", "inspect", "details", "app.gui.plots.operators:OperatorsView"
    ),
)


class Views:
    """The views of one window: all of them by key, and again by what each is fed."""

    def __init__(self) -> None:
        self.by_key = {spec.key: spec.make() for spec in VIEWS}
        self.shown = self._fed("shown")
        self.all: list[SeriesView] = [*self._fed("all")]
        self.pair = [view for view in self._fed("pair") if isinstance(view, PairView)]
        self.past = [view for view in self._fed("history") if isinstance(view, PastView)]
        self.details = [view for view in self._fed("details") if isinstance(view, DetailView)]
        self.card = [view for view in self._fed("card") if isinstance(view, CardView)]

    def arrange(self, how: Arrangement) -> None:
        """Show the series of the cases in flight or selected so, in every view that has them."""
        for view in self.shown:
            view.arrange(how)

    def _fed(self, how: Fed) -> list[PlotView]:
        return [self.by_key[spec.key] for spec in VIEWS if spec.fed == how]
