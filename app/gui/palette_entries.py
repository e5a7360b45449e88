"""What the palette finds in a window: its actions, views and cases, models, terms, recent runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from app.gui.editor.models import ModelPicker
from app.gui.look.terms import TERMS
from app.gui.panels.palette import Entry, Palette
from app.gui.plots.base import PlotView
from app.gui.run_feed import RunFeed
from app.gui.shell import Frame
from app.gui.tables.results import ResultsTable
from app.gui.views import VIEWS
from app.plot_data.series import Baseline
from app.run_folder.live_status import run_headline
from exporters.models import catalogue

PANES = {
    "results": "Details table",
    "queue": "Queue",
    "log": "Log",
    "series": "List of cases",
    "welcome": "Start page",
    "editor": "New sweep",
}

Source = Callable[[], Iterable[Entry]]


class Finder(QObject):
    """Asks each source, in the order in which they were added, whenever it is opened."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._sources: list[Source] = []

    def add(self, source: Source) -> None:
        """Of what fits equally, that of the source which was added first is found first."""
        self._sources.append(source)

    def entries(self) -> list[Entry]:
        return [entry for source in self._sources for entry in source()]

    @Slot()
    def find_anything(self) -> None:
        Palette(self.entries(), self._window).open()


def of_actions(actions: Mapping[str, QAction]) -> Iterator[Entry]:
    """All that menus hold; what can't be done now is listed too, and says so."""
    for action in actions.values():
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        text = action.text().replace("&", "").rstrip("…")
        yield Entry(text, "action", action.trigger, keys, action.statusTip(), action.isEnabled())


def of_views(views: Mapping[str, PlotView], frame: Frame) -> Iterator[Entry]:
    """Every view, then the panes and pages beside them."""
    for spec in VIEWS:
        show = partial(frame.show_key, spec.key)
        yield Entry(spec.title, "view", show, "", views[spec.key].hint)
    for key, title in PANES.items():
        yield Entry(title, "panel", partial(frame.show_key, key))


def of_cases(feed: RunFeed, table: ResultsTable) -> Iterator[Entry]:
    """Those of the open run; choosing one selects its row."""

    def choose(key: str) -> None:
        table.filter_by("")
        table.select([key])

    for case_series in feed.state.series if feed.state else ():
        hint = f"Select it: plots show this case ({case_series.status.replace('_', ' ')})"
        yield Entry(case_series.label, "case", partial(choose, case_series.key), "", hint)


def of_baselines(
    list_baselines: Callable[[], Sequence[Baseline]], rename: Callable[[str], object]
) -> Iterator[Entry]:
    """Those that series are held against; choosing one has its name typed anew."""
    for baseline in list_baselines():
        hint = "Type another name for this baseline; an empty one gives it its own again"
        yield Entry(
            f"Rename baseline {baseline.name}", "baseline", partial(rename, baseline.key), "", hint
        )


def of_models(picker: ModelPicker, show: Callable[[], None]) -> Iterator[Entry]:
    """The catalogue's; choosing one checks it in the editor."""

    def choose(name: str) -> None:
        show()
        picker.choose(name)

    for suite, definitions in catalogue.by_suite().items():
        for definition in definitions:
            hint = f"Add it to the sweep (suite {suite}, family {definition.family})"
            yield Entry(definition.name, "model", partial(choose, definition.name), "", hint)


def of_runs(folders: Iterable[Path], open_run: Callable[[Path], None]) -> Iterator[Entry]:
    for folder in folders:
        headline = run_headline(folder) or str(folder)
        yield Entry(folder.name, "recent run", partial(open_run, folder), "", headline)


def of_terms(show: Callable[[str], object]) -> Iterator[Entry]:
    for term, sentence in sorted(TERMS.items()):
        yield Entry(term, "term", partial(show, term), "", sentence)
