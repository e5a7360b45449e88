"""Saving the view in front as a picture or as numbers; the file's ending says which."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtWidgets import QApplication, QFileDialog, QInputDialog, QWidget

from exporters.types import GraphlapError

_FILTERS = {".png": "Picture (*.png)", ".svg": "Vector picture (*.svg)", ".csv": "Numbers (*.csv)"}


def export(view: QWidget, path: Path) -> None:
    """Write by the ending of `path`; GraphlapError for one that the view does not know."""
    write = getattr(view, f"export_{path.suffix.lower().lstrip('.')}", None)
    if write is None:
        known = ", ".join(ending for ending in _FILTERS if hasattr(view, f"export_{ending[1:]}"))
        raise GraphlapError(f"{path.name} does not say how to save the view", f"end it in {known}")
    try:
        write(path)
    except OSError as error:
        raise GraphlapError(
            f"{path} can't be written ({error.strerror or error})", "choose another place"
        ) from None


def ask_and_export(window: QWidget, views: Mapping[str, QWidget]) -> None:
    """Ask which view, if several can be seen, and where to; nothing is written on cancel."""
    view = _in_front(window, views)
    if view is None:
        return
    endings = [text for end, text in _FILTERS.items() if hasattr(view, f"export_{end[1:]}")]
    name = view.title.lower().replace(" ", "-")
    path, kind = QFileDialog.getSaveFileName(window, "Export view", name, ";;".join(endings))
    if path:
        chosen = next(end for end, text in _FILTERS.items() if text == kind)
        target = Path(path)
        export(view, target if target.suffix else target.with_suffix(chosen))


def _in_front(window: QWidget, views: Mapping[str, QWidget]) -> QWidget | None:
    """The view with the focus, else the one that is seen; of several the user picks one."""
    focus = QApplication.focusWidget()
    seen = [v for v in views.values() if v.isVisible() and not v.visibleRegion().isEmpty()]
    holding = [view for view in seen if focus is not None and view.isAncestorOf(focus)]
    if len(holding or seen) == 1:
        return (holding or seen)[0]
    titles = [view.title for view in seen]
    if not titles:
        return None
    title, agreed = QInputDialog.getItem(window, "Export view", "View:", titles, 0, False)
    return seen[titles.index(title)] if agreed else None
