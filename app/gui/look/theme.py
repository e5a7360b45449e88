"""The colours of both themes, one for each runtime, and icons: lines, squares, the program's own.

Text has a contrast of at least 4.5 to every ground on which it stands; borders of controls, series
and marks have at least 3 (WCAG 2.2, 1.4.3 and 1.4.11). `style_sheet.py` applies them.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QIcon, QPainter, QPen, QPixmap
from PySide6.QtSvg import QSvgRenderer

from exporters import install_layout


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours as #rrggbb: `base` lies behind plots and tables, `window` behind all else; `border`
    parts areas and may be faint, `control` is the outline of what can be operated."""

    name: str
    window: str
    base: str
    stripe: str
    raised: str
    border: str
    control: str
    grid: str
    text: str
    muted: str
    accent: str
    on_accent: str
    good: str
    warning: str
    bad: str
    faster: str
    slower: str
    runtimes: dict[str, str]
    hues: tuple[str, ...]
    """Of what is no runtime, such as batch sizes beside each other; in their order."""

    @property
    def dark(self) -> bool:
        return QColor(self.base).lightness() < 128


_TABLES = tomllib.loads(install_layout.asset("themes.toml").read_text("utf-8"))
THEMES = {n: Theme(n, **(t | {"hues": tuple(t["hues"])})) for n, t in _TABLES.items()}
LIGHT, DARK = THEMES["light"], THEMES["dark"]


def runtime_color(runtime: str, theme: Theme = LIGHT) -> QColor:
    """The colour of `name[:device][@release]`: the device's own, else the runtime's.

    A runtime that the table does not know gets a hue from its name, the same in every run.
    """
    device = runtime.partition("@")[0]
    name = device.partition(":")[0]
    color_name = theme.runtimes.get(device) or theme.runtimes.get(name)
    if color_name:
        return QColor(color_name)
    return QColor.fromHsl(crc32(name.encode()) % 360, 110, 170 if theme.dark else 100)


def verdict_color(word: str, theme: Theme) -> QColor:
    """Of faster, slower, same and undecided: blue and vermilion, which everyone tells apart."""
    return QColor({"faster": theme.faster, "slower": theme.slower}.get(word, theme.muted))


def mixed(color: QColor, other: QColor, share: float) -> QColor:
    """The colour with a share of the other in it, from 0 to 1; opaque."""
    pairs = (
        (color.red(), other.red()),
        (color.green(), other.green()),
        (color.blue(), other.blue()),
    )
    return QColor(*(round(a + (b - a) * share) for a, b in pairs))


def contrast(first: QColor, other: QColor) -> float:
    """The ratio of relative luminances, 1 to 21, after WCAG 2 (www.w3.org/TR/WCAG22, 1.4.3)."""
    low, high = sorted(map(_luminance, (first, other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: QColor) -> float:
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (color.redF(), color.greenF(), color.blueF())
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


_SIDE = 48
"""Pixels of a glyph: crisp at twice the size at which it is shown."""

GLYPHS: dict[str, str] = {
    "run": '<path d="M7 4.5v15l12-7.5z" fill="COLOR"/>',
    "pause": '<path d="M8.5 5v14M15.5 5v14"/>',
    "stop": '<rect x="6" y="6" width="12" height="12" rx="1.5"/>',
    "new": '<path d="M12 5v14M5 12h14"/>',
    "find": '<circle cx="10.5" cy="10.5" r="6"/><path d="M15 15l5.5 5.5"/>',
    "open": '<path d="M3 18V6h6l2 2.5h10V18z"/>',
    "warning": '<path d="M12 4l9 16H3z"/><path d="M12 10v4.5M12 17.4h.01"/>',
}
"""SVG inside a stroked group; COLOR is where a shape is filled."""


@lru_cache(maxsize=256)
def glyph(name: str, color: str, text: str) -> QIcon:
    """An icon of `GLYPHS` in #rrggbb colours."""
    icon = QIcon()
    for mode, hue in ((QIcon.Mode.Normal, color), (QIcon.Mode.Disabled, text)):
        pixmap = QPixmap(_SIDE, _SIDE)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        QSvgRenderer(_svg(name, hue)).render(painter)
        painter.end()
        icon.addPixmap(pixmap, mode)
    return icon


def _svg(name: str, color: str) -> QByteArray:
    shapes = GLYPHS[name].replace("COLOR", color)
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><g fill="none" '
        f'stroke="{color}" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">'
        f"{shapes}</g></svg>"
    )
    return QByteArray(text.encode())


_SIZES = (16, 24, 32, 48, 64, 128, 256)


def icon_bytes() -> QByteArray:
    """The SVG as it ships."""
    return QByteArray(install_layout.asset("icons", "graphlap.svg").read_bytes())


def app_icon() -> QIcon:
    """Needs a QGuiApplication."""
    renderer = QSvgRenderer(icon_bytes())
    icon = QIcon()
    for size in _SIZES:
        pixmap = QPixmap(size, size)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        renderer.render(painter)
        painter.end()
        icon.addPixmap(pixmap)
    return icon


SIDE = 14
_SHARP = 2


def swatch(
    color: QColor, ground: QColor, pattern: Qt.BrushStyle = Qt.BrushStyle.SolidPattern
) -> QIcon:
    """Filled as the series is: hollow if doubted, hatched if simulated; untinted when selected."""
    return _paint_icon(color.name(), ground.name(), pattern)


@lru_cache(maxsize=512)
def _paint_icon(color: str, ground: str, pattern: Qt.BrushStyle) -> QIcon:
    pixmap = QPixmap(SIDE * _SHARP, SIDE * _SHARP)
    pixmap.setDevicePixelRatio(_SHARP)
    pixmap.fill(QColor(ground))
    painter = QPainter(pixmap)
    painter.setPen(QPen(QColor(color), 1.5))
    painter.setBrush(QBrush(QColor(color), pattern))
    painter.drawRect(QRectF(2.0, 2.0, SIDE - 4.0, SIDE - 4.0))
    painter.end()
    icon = QIcon(pixmap)
    icon.addPixmap(pixmap, QIcon.Mode.Selected)
    return icon
