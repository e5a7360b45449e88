"""Every view of a run: where it stands, and what it is fed.

A literal table, so that adding a view is one line here and one file in `plots`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from app.capabilities.simulated_card.inference import CardRun
from app.gui.plots.base import PlotView
from app.gui.plots.style import Arrangement
from app.history.run_comparison import RunSide
from app.history.trends import History
from app.plot_data.series import Series
from app.runs.following.state import CaseDetails
from exporters import install_layout
from exporters.types import GraphlapError

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
    """Fed with `history`; `identity` is what makes the case that is looked at, `there` says that
    other runs lie beside the open one."""

    def set_others(self, has_others: bool) -> None: ...

    def set_history(self, history: History | GraphlapError) -> None: ...

    def set_case(self, identity: str, label: str) -> None: ...


@runtime_checkable
class DetailView(Protocol):
    """Fed with `details` of a case and with its series."""

    def set_details(self, details: CaseDetails, case_series: Series) -> None: ...


@runtime_checkable
class CardView(Protocol):
    """Fed with a `card`'s answer; None while there is none."""

    def set_run(self, run: CardRun | None) -> None: ...


@dataclass(frozen=True, slots=True)
class ViewSpec:
    """`target` is `module:Class`, a PlotView that can be fed with what `fed` says."""

    key: str
    title: str
    place: str
    fed: Fed
    target: str
    brief: str = ""
    """What the switch of its place calls it; the title where that is ""."""

    def make(self) -> PlotView:
        make: Callable[[], PlotView] = install_layout.load(f"app.gui.plots.{self.target}")
        return make()


@dataclass(frozen=True, slots=True)
class Place:
    """What stands in the bar of views; one with several plots has a switch between them."""

    key: str
    title: str
    is_usual: bool = True
    """Whether it is offered first, and not among those that only some runs have data for."""

    @property
    def views(self) -> tuple[ViewSpec, ...]:
        return tuple(spec for spec in VIEWS if spec.place == self.key)


PLACES: tuple[Place, ...] = (
    Place("summary", "Summary"),
    Place("ranking", "Ranking"),
    Place("distribution", "Distribution"),
    Place("timeline", "Timeline"),
    Place("trends", "Trends"),
    Place("matrix", "Matrix"),
    Place("compare", "Compare"),
    Place("history", "History"),
    Place("inspect", "Inspect"),
    Place("checks", "Check", is_usual=False),
    Place("largest", "Largest batch", is_usual=False),
    Place("ladder", "Tuning steps", is_usual=False),
    Place("accuracy", "Accuracy", is_usual=False),
)

VIEWS: tuple[ViewSpec, ...] = (
    ViewSpec("summary", "Summary", "summary", "all", "summary:SummaryView"),
    ViewSpec("ranking", "Ranking", "ranking", "all", "ranking:RankingView"),
    ViewSpec("histogram", "Histogram", "distribution", "shown", "histogram:HistogramView"),
    ViewSpec(
        "cumulative", "Cumulative", "distribution", "shown", "distributions:CumulativeView", "CDF"
    ),
    ViewSpec("percentiles", "Percentiles", "distribution", "shown", "distributions:PercentileView"),
    ViewSpec("boxes", "Box plots", "distribution", "shown", "distributions:BoxesView", "Boxes"),
    ViewSpec("timeline", "Timeline", "timeline", "shown", "timeline:TimelineView"),
    ViewSpec("trends", "Trends", "trends", "all", "trends:TrendsView"),
    ViewSpec("matrix", "Matrix", "matrix", "all", "matrix:MatrixView"),
    ViewSpec("compare", "Compare", "compare", "pair", "compare:CompareView"),
    ViewSpec("history", "History", "history", "history", "compare:HistoryView"),
    ViewSpec("operators", "Operators", "inspect", "details", "operators:OperatorsView"),
    ViewSpec("graph", "Model graph", "inspect", "details", "graph:GraphView", "Graph"),
    ViewSpec("schedule", "FPGA schedule", "inspect", "card", "operators:ScheduleView", "Schedule"),
    ViewSpec("checks", "Check", "checks", "all", "matrix:ChecksView"),
    ViewSpec("largest", "Largest batch", "largest", "all", "searches:LargestBatchView"),
    ViewSpec("ladder", "Ladder", "ladder", "all", "searches:LadderView"),
    ViewSpec("accuracy", "Accuracy", "accuracy", "all", "ranking:AccuracyView"),
)


class Views:
    """The views of one window: all of them by key, and again by what each is fed."""

    def __init__(self) -> None:
        self.by_key = {spec.key: spec.make() for spec in VIEWS}
        self.shown = self._select_views("shown")
        self.all: list[SeriesView] = [*self._select_views("all")]
        self.pair = [view for view in self._select_views("pair") if isinstance(view, PairView)]
        self.past = [view for view in self._select_views("history") if isinstance(view, PastView)]
        self.details = [
            view for view in self._select_views("details") if isinstance(view, DetailView)
        ]
        self.card = [view for view in self._select_views("card") if isinstance(view, CardView)]

    def arrange(self, how: Arrangement) -> None:
        """Show the series of the cases in flight or selected so, in every view that has them."""
        for view in self.shown:
            view.arrange(how)
        for view in self._select_views("all"):
            view.arrange(how)

    def _select_views(self, how: Fed) -> list[PlotView]:
        return [self.by_key[spec.key] for spec in VIEWS if spec.fed == how]
