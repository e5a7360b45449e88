"""A labelled drop-down for the ways a view can be drawn; reachable and named for all."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtWidgets import QComboBox


class Choice(QComboBox):
    """One of several keys, each shown by its text."""

    def __init__(self, name: str, texts: Mapping[str, str], hint: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setToolTip(hint)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.set_texts(texts)

    @property
    def value(self) -> str:
        return self.currentData() or ""

    def choose(self, key: str) -> None:
        self.setCurrentIndex(self.findData(key))

    def set_texts(self, texts: Mapping[str, str]) -> None:
        """Offer these; what was chosen stays chosen if it is still there."""
        if [self.itemData(k) for k in range(self.count())] == list(texts):
            return
        kept = self.value
        self.blockSignals(True)
        self.clear()
        for key, text in texts.items():
            self.addItem(text, key)
        self.setCurrentIndex(max(0, self.findData(kept)))
        self.blockSignals(False)
