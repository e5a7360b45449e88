"""Small form fields that hold several values each: every value is one more point of the sweep.

All have `edited`, emitted by the user's hand only, `show_value`, and `problem`, a sentence
while what is typed is no value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from app.gui.look.flow import FlowLayout
from runtimes.options import Option, OptionValue

_SEPARATORS = re.compile(r"[,\s]+")


class SizesField(QLineEdit):
    """Whole numbers with commas: `1, 2, 4`; empty is the model's own default."""

    edited = Signal(tuple)

    def __init__(self, name: str, least: int = 1, empty: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self._name, self._least, self._empty = name, least, empty
        self.problem = ""
        self.textEdited.connect(self._read)

    def show_value(self, sizes: Sequence[int]) -> None:
        if self.problem or self._parse(self.text()) != tuple(sizes):
            shown = () if tuple(sizes) == self._empty and not self.text() else sizes
            self.setText(", ".join(map(str, shown)))
        self._set_problem("")

    def _read(self, text: str) -> None:
        sizes = self._parse(text)
        if sizes is None:
            self._set_problem(
                f"{self._name} {text!r} is not a list of whole numbers of at least "
                f"{self._least}, such as 1, 2, 4"
            )
        else:
            self._set_problem("")
        self.edited.emit(sizes)

    def _parse(self, text: str) -> tuple[int, ...] | None:
        words = [word for word in _SEPARATORS.split(text) if word]
        if not all(word.isascii() and word.isdigit() for word in words):
            return None
        sizes = tuple(dict.fromkeys(map(int, words)))
        good = all(self._least <= size < 2**31 for size in sizes)
        return (sizes or self._empty) if good else None

    def _set_problem(self, problem: str) -> None:
        self.problem = problem
        self.setProperty("invalid", bool(problem))
        self.style().polish(self)


class ChoicesField(QWidget):
    """A check box for each known value, at least one of them checked."""

    edited = Signal(tuple)
    problem = ""

    def __init__(self, name: str, choices: Sequence[OptionValue], texts: Sequence[str] = ()):
        super().__init__()
        self.setAccessibleName(name)
        layout = FlowLayout(self)
        self.boxes: dict[OptionValue, QCheckBox] = {}
        for choice, text in zip(choices, texts or map(str, choices), strict=True):
            box = QCheckBox(text)
            box.setAccessibleName(f"{name} {text}")
            box.clicked.connect(self._clicked)
            self.boxes[choice] = box
            layout.addWidget(box)

    def show_value(self, values: Sequence[OptionValue]) -> None:
        for choice, box in self.boxes.items():
            box.setChecked(choice in values)

    def value(self) -> tuple[OptionValue, ...]:
        return tuple(choice for choice, box in self.boxes.items() if box.isChecked())

    def _clicked(self) -> None:
        if not self.value():  # the last box stays: no value at all would be no case
            box = self.sender()
            if isinstance(box, QCheckBox):
                box.setChecked(True)
            return
        self.edited.emit(self.value())


class ValuesField(QLineEdit):
    """Values of an option or an axis in text, with a separator; empty is its default.

    `parse` makes a value of a word, or raises ValueError with a sentence.
    """

    edited = Signal(tuple)

    def __init__(
        self,
        name: str,
        default: OptionValue,
        parse: Callable[[str], OptionValue],
        separator: str = ",",
    ) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setPlaceholderText(str(default))
        self._default, self._parse_word, self._separator = default, parse, separator
        self.problem = ""
        self.textEdited.connect(self._read)

    def show_value(self, values: Sequence[OptionValue]) -> None:
        self.problem = ""
        if tuple(values) == (self._default,) and not self.text():
            return
        if self._parse(self.text()) != tuple(values):
            self.setText(f"{self._separator} ".join(map(str, values)))

    def _read(self, text: str) -> None:
        self.edited.emit(self._parse(text))

    def _parse(self, text: str) -> tuple[OptionValue, ...] | None:
        self.problem = ""
        try:
            words = [word.strip() for word in text.split(self._separator)]
            values = [self._parse_word(word) for word in words if word]
        except ValueError as error:
            self.problem = str(error)
            return None
        return tuple(dict.fromkeys(values)) or (self._default,)


def option_field(name: str, option: Option) -> ChoicesField | ValuesField:
    """The field that an option's table row asks for."""
    if isinstance(option.default, bool):
        return ChoicesField(name, (True, False), ("on", "off"))
    if option.choices:
        return ChoicesField(name, option.choices)
    return ValuesField(name, option.default, option.parse)
