"""Saving the view in front as a picture or as numbers; the file's ending says which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtWidgets import QApplication, QFileDialog, QInputDialog, QWidget

from app.gui.look.csv_file import write_csv
from app.gui.plots.base import PlotView
from app.gui.plots.export import export_png, export_svg
from app.gui.tables.results import ResultsTable
from exporters.types import GraphlapError

Exportable = PlotView | ResultsTable
_KINDS = {".png": "Picture (*.png)", ".svg": "Vector picture (*.svg)", ".csv": "Numbers (*.csv)"}


def export(view: Exportable, path: Path) -> None:
    """Write by the ending of `path`; GraphlapError for one that the view does not know."""
    writers = _writers(view)
    write = writers.get(path.suffix.lower())
    if write is None:
        raise GraphlapError(
            f"{path.name} does not say how to save the view", f"end it in {', '.join(writers)}"
        )
    write(path)


def ask_and_export(window: QWidget, views: Sequence[Exportable]) -> None:
    """Ask which view, if several can be seen, and where to; nothing is written on cancel."""
    view = _in_front(window, views)
    if view is None:
        return
    kinds = {_KINDS[ending]: ending for ending in _writers(view)}
    name = view.title.lower().replace(" ", "-")
    path, kind = QFileDialog.getSaveFileName(window, "Export view", name, ";;".join(kinds))
    if path:
        target = Path(path)
        export(view, target if target.suffix else target.with_suffix(kinds[kind]))


def _writers(view: Exportable) -> dict[str, Callable[[Path], None]]:
    """What writes the view, by the ending of the file."""
    numbers = {".csv": lambda path: write_csv(path, *view.table())}
    if not isinstance(view, PlotView):
        return numbers
    return {
        ".png": lambda path: export_png(view, path),
        ".svg": lambda path: export_svg(view, path),
        **numbers,
    }


def _in_front(window: QWidget, views: Sequence[Exportable]) -> Exportable | None:
    """The view with the focus, else the one that is seen; of several the user picks one."""
    focus = QApplication.focusWidget()
    seen = [view for view in views if view.isVisible() and not view.visibleRegion().isEmpty()]
    holding = [view for view in seen if focus is not None and view.isAncestorOf(focus)]
    if len(holding or seen) == 1:
        return (holding or seen)[0]
    titles = [view.title for view in seen]
    if not titles:
        return None
    title, agreed = QInputDialog.getItem(window, "Export view", "View:", titles, 0, False)
    return seen[titles.index(title)] if agreed else None
