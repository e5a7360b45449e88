"""Saving the view in front as a picture or as numbers; the file's ending says which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from PySide6.QtWidgets import QFileDialog, QInputDialog, QWidget

from app.gui.look.csv_file import write_csv
from app.gui.plots.base import PlotView
from app.gui.plots.export import export_png, export_svg
from app.gui.tables.results import ResultsTable
from exporters.types import GraphlapError

Exportable = PlotView | ResultsTable
ViewT = TypeVar("ViewT", bound=Exportable)
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


def ask_and_export(window: QWidget, view: Exportable) -> Path | None:
    """Ask where to; the file that was written, None on cancel."""
    kinds = {_KINDS[ending]: ending for ending in _writers(view)}
    name = view.title.lower().replace(" ", "-")
    path, kind = QFileDialog.getSaveFileName(window, "Export view", name, ";;".join(kinds))
    if not path:
        return None
    target = Path(path) if Path(path).suffix else Path(path).with_suffix(kinds[kind])
    export(view, target)
    return target


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


def in_front(window: QWidget, views: Sequence[ViewT], what: str) -> ViewT | None:
    """The view with the focus, else the one that is seen; of several the user picks one.

    `what` is to be done with it, as the title of that question.
    """
    focus = window.focusWidget()
    seen = [view for view in views if _is_seen(view)]
    holding = [view for view in seen if focus is not None and view.isAncestorOf(focus)]
    if len(holding or seen) == 1:
        return (holding or seen)[0]
    titles = [view.title for view in seen]
    if not titles:
        return None
    title, agreed = QInputDialog.getItem(window, what, "View:", titles, 0, False)
    return seen[titles.index(title)] if agreed else None


def _is_seen(view: Exportable) -> bool:
    if isinstance(view, PlotView):
        return view.is_in_sight
    return view.isVisible() and not view.visibleRegion().isEmpty()
