"""Names and foreign texts, shortened to their room, never read as HTML nor as a formula; terms."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtGui import Qt as GuiQt
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.cases.scenario import FORMS
from app.formatting.text import printable, storable
from app.plan.settings.table import SETTINGS
from app.run_folder.files import replacing
from app.run_folder.table import csv_line, neutralise_formula
from exporters import install_layout
from exporters.types import GraphlapError


class PlainLabel(QLabel):
    """A label that shows its text as it is."""

    def __init__(self, text: str = "", parent: QWidget | None = None, *, wrap: bool = False):
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wrap)


class Line(PlainLabel):
    """Words in a line that take no room of their own: what there is too little for ends in …, and
    is whole in the tip."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def say(self, text: str, tip: str = "") -> None:
        self.setText(text)
        self.setToolTip(plain_tip(tip or text))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        place, metrics = self.contentsRect(), self.fontMetrics()
        elided_text = metrics.elidedText(self.text(), Qt.TextElideMode.ElideRight, place.width())
        role = self.foregroundRole()
        painter, middle = QPainter(self), Qt.AlignmentFlag.AlignVCenter
        self.style().drawItemText(painter, place, middle, self.palette(), True, elided_text, role)
        painter.end()


def plain_tip(text: str) -> str:
    """The same for a tool tip, line by line, which has no format of its own to be set."""
    plain = "\n".join(map(printable, text.split("\n")))
    if not GuiQt.mightBeRichText(plain):
        return plain
    return f"<p style='white-space: pre'>{escape(plain)}</p>"


def caption(text: str) -> str:
    """The same for a button or a menu, where `&` would underline what follows and a tab part it."""
    return printable(text).replace("&", "&&")


_SEPARATOR = " · "
_REMARK = re.compile(r" \([^()]*\)$")
_COUNT_PATTERN = re.compile(r"(?P<value>\d\S*) (?P<word>[A-Za-z_]+)")
_NAME_PATTERN = re.compile(r"(?P<word>[A-Za-z_]+)(?: (?P<value>\d\S*)|=(?P<choice>\S+))")
_LEAST = 3
"""Letters that a word keeps, the sign for what was left out among them."""


def shorter(names: Sequence[str], room: float, wide: Callable[[str], float]) -> list[str]:
    """These names, each within the room if it can be; `wide` tells what a text takes of it.

    What all of them count is told by its initial first: `2 threads · batch 16` is `2t · b16`. Then
    a remark in brackets is a mark, as it is in the table, and then words lose their middle.
    """
    texts = list(names)
    for shorten in (_keep, _initials, _marks):
        texts = shorten(texts)
        if all(wide(name) <= room for name in texts):
            return texts
    return _kept_apart(names, [_cut(name, room, wide) for name in texts])


def _kept_apart(names: Sequence[str], brief: list[str]) -> list[str]:
    """Names that were cut to the same go by the words in which they differ, after a sign for the
    rest."""
    same: dict[str, list[int]] = {}
    for place, text in enumerate(brief):
        same.setdefault(text, []).append(place)
    for places in same.values():
        if len({names[place] for place in places}) < 2:
            continue
        words = {place: names[place].split() for place in places}
        common_words = set.intersection(*(set(name_words) for name_words in words.values()))
        for place, name_words in words.items():
            brief[place] = f"…{' '.join(word for word in name_words if word not in common_words)}"
    return brief


def _keep(names: list[str]) -> list[str]:
    return names


def _initials(names: list[str]) -> list[str]:
    """With as few letters of the settings that all have as tell these apart."""
    split = [name.split(_SEPARATOR) for name in names]
    words = [{word for part in parts if (word := _setting(part))} for parts in split]
    common = sorted(set.intersection(*words)) if words else []
    brief = {word: _prefix(word, common) for word in common}
    return [_SEPARATOR.join(_abbreviate(part, brief) for part in parts) for parts in split]


def _setting(part: str) -> str:
    """What `2 threads`, `batch 16` or `gap=all` is a value of, in the singular; "" of none."""
    match = _match_setting(part)
    return match["word"].removesuffix("s") if match else ""


def _match_setting(part: str) -> re.Match[str] | None:
    bare = _REMARK.sub("", part)
    return _COUNT_PATTERN.fullmatch(bare) or _NAME_PATTERN.fullmatch(bare)


def _prefix(word: str, texts: Sequence[str]) -> str:
    lengths = range(1, len(word) + 1)
    return next(
        (
            word[:length]
            for length in lengths
            if sum(other.startswith(word[:length]) for other in texts) == 1
        ),
        word,
    )


def _abbreviate(part: str, brief: dict[str, str]) -> str:
    match = _match_setting(part)
    letters = brief.get(_setting(part), "")
    if match is None or not letters:
        return part
    if match.re is _COUNT_PATTERN:
        short = f"{match['value']}{letters}"
    else:
        short = f"{letters}{match['value'] or '=' + match['choice']}"
    return short + part[match.end() :]


def _marks(names: list[str]) -> list[str]:
    return [_REMARK.sub(" !", name) for name in names]


def _cut(name: str, room: float, wide: Callable[[str], float]) -> str:
    """The longest word shorter by a letter of its middle, again and again."""
    parts = name.split(_SEPARATOR)
    sizes = [len(part) for part in parts]
    letter, text = wide("W"), name
    while (excess := wide(text) - room) > 0.0 and max(sizes) > _LEAST:
        for _ in range(max(1, int(excess / letter))):
            longest = sizes.index(max(sizes))
            sizes[longest] -= sizes[longest] > _LEAST
        text = _SEPARATOR.join(map(_fit, parts, sizes))
    return text


def _fit(part: str, size: int) -> str:
    if size == len(part):
        return part
    tail = (size - 1) // 2
    return f"{part[: size - 1 - tail]}…{part[len(part) - tail :]}"


Table = tuple[list[str], list[list[object]]]
"""Column names and rows."""


class NotWritten(GraphlapError):
    """A picture or table could not be written."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} could not be written", "choose a folder that you may write to")


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """UTF-8, `.` decimals, empty for None and NaN; text a spreadsheet would run is quoted."""
    try:
        with replacing(path) as file:
            file.writelines(csv_line(map(_cell, row)).encode() for row in (header, *rows))
    except OSError as error:
        raise NotWritten(path) from error


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return neutralise_formula(storable(value)) if isinstance(value, str) else str(value)


_FLAG = re.compile(r"--[a-z][a-z-]*[a-z]")
_FIELDS = {row.flag: f"“{row.label.replace('&', '')}”" for row in SETTINGS if row.label}


def in_fields(text: str) -> str:
    """The sentence with the names of fields where it has options of the command line."""
    return _FLAG.sub(lambda match: _FIELDS.get(match[0], match[0]), text)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


_OF_SETTINGS = {row.term: _sentence(in_fields(row.help)) for row in SETTINGS if row.label}
_TABLE = csv.DictReader(install_layout.asset("terms.csv").read_text("utf-8").splitlines())
_OF_SCENARIOS = {kind.replace("_", " "): form.meaning for kind, form in FORMS.items()}
TERMS = _OF_SETTINGS | _OF_SCENARIOS | {row["term"]: row["sentence"] for row in _TABLE}
"""The words of the subject, each in a sentence: what tooltips and the glossary show."""
