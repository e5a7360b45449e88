"""Sizes of a model's own axes, as `name=1,2,4` with spaces between several."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit


class AxesField(QLineEdit):
    """Axis name -> sizes; empty is every model's default."""

    edited = Signal(object)

    def __init__(self) -> None:
        super().__init__(placeholderText="name=1,2,4")
        self.setAccessibleName("sizes of other axes")
        self.problem = ""
        self.textEdited.connect(self._read)

    def show_value(self, axes: Mapping[str, tuple[int, ...]]) -> None:
        if _parse(self.text()) != dict(axes):
            self.setText(
                " ".join(f"{name}={','.join(map(str, sizes))}" for name, sizes in axes.items())
            )
        self.problem = ""

    def _read(self, text: str) -> None:
        axes = _parse(text)
        self.problem = "" if axes is not None else f"axes {text!r} are not written as name=1,2,4"
        self.edited.emit(axes)


def _parse(text: str) -> dict[str, tuple[int, ...]] | None:
    axes = {}
    for word in text.split():
        name, equals, sizes = word.partition("=")
        numbers = sizes.split(",")
        good = all(n.isascii() and n.isdigit() and 1 <= int(n) < 2**31 for n in numbers)
        if not (name and equals and good):
            return None
        axes[name] = tuple(dict.fromkeys(map(int, numbers)))
    return axes
