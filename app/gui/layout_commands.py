"""The View menu: pages, the editor that folds away, layouts."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot

from app.gui.docks import Docks


class LayoutCommands(QObject):
    said = Signal(str)

    def __init__(self, docks: Docks) -> None:
        super().__init__(docks)
        self._docks = docks

    @Slot()
    def page_measure(self) -> None:
        self._docks.go_to("measure")

    @Slot()
    def page_results(self) -> None:
        self._docks.go_to("results")

    @Slot()
    def page_inspect(self) -> None:
        self._docks.go_to("inspect")

    @Slot()
    def toggle_editor(self) -> None:
        """Fold it away, or bring it back to where it was, from whichever page."""
        if self._docks.editor_is_seen:
            self._docks.fold()
        else:
            self._docks.show("editor")

    @Slot()
    def reset(self) -> None:
        self._docks.reset()

    @Slot()
    def keep(self) -> None:
        self._docks.keep_custom()
        self.said.emit("Kept as this page's custom layout")

    @Slot()
    def bring_custom(self) -> None:
        if not self._docks.restore_custom():
            self.said.emit("No custom layout was kept for this page")
