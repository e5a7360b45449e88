"""The style sheet of the window: flat controls, Inter in five sizes, focus that is seen."""

from __future__ import annotations

from string import Template
from typing import Literal

from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QPalette
from PySide6.QtWidgets import QApplication

from app.gui.look.theme import THEMES, Theme, mixed
from exporters import install_layout

FAMILY = "Inter Tabular"
Size = Literal["caption", "small", "body", "heading", "title"]
SIZES: dict[Size, int] = {"caption": 11, "small": 12, "body": 13, "heading": 16, "title": 22}
_FILES = ("InterTabular-Regular.ttf", "InterTabular-SemiBold.ttf")


def use_typeface() -> None:
    """Make the bundled typeface the application's, once; without its files the desktop's stays."""
    system_font = QApplication.font()
    if system_font.family() == FAMILY:
        return
    font_ids = [
        QFontDatabase.addApplicationFontFromData(install_layout.asset("fonts", name).read_bytes())
        for name in _FILES
    ]
    font = QFont(system_font)
    if min(font_ids) >= 0:
        font.setFamily(FAMILY)
    pixels = QFontInfo(system_font).pixelSize()
    scale = max(1.0, SIZES["body"] / max(1, pixels))
    font.setPointSizeF(system_font.pointSizeF() * scale)
    QApplication.setFont(font)


def points(size: Size) -> float:
    """A size of the scale in points, beside the application's body text."""
    return QApplication.font().pointSizeF() * SIZES[size] / SIZES["body"]


def font(size: Size, *, bold: bool = False) -> QFont:
    """The application's font in a size of the scale."""
    qfont = QFont(QApplication.font())
    qfont.setPointSizeF(points(size))
    qfont.setBold(bold)
    return qfont


def prepare_application() -> None:
    """The typeface and the style on which the sheets rest, before any widget is made."""
    use_typeface()
    QApplication.styleHints().setCursorFlashTime(0)  # each blink paints: an idle window rests
    if not _application().styleSheet():
        _application().setStyle("Fusion")


def apply_theme(name: str) -> Theme:
    """Dress the whole application, once its widgets are made: with a sheet in force, every widget
    that is put into another is dressed again, and all those in it."""
    app, theme = _application(), THEMES[name]
    sheet = style_sheet(theme)
    if app.styleSheet() != sheet:
        # Replacing one sheet by another dresses a widget once for each widget that it stands in;
        # no sheet at first, then the new one, twice.
        app.setStyleSheet("")
        app.setPalette(_palette(theme))
        app.setStyleSheet(sheet)
    return theme


def _application() -> QApplication:
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    return app


def _palette(theme: Theme) -> QPalette:
    palette = QPalette()
    role = QPalette.ColorRole
    colours = {
        role.Window: theme.window,
        role.WindowText: theme.text,
        role.Base: theme.base,
        role.AlternateBase: theme.stripe,
        role.Text: theme.text,
        role.Button: theme.raised,
        role.ButtonText: theme.text,
        role.BrightText: theme.bad,
        role.Highlight: theme.accent,
        role.HighlightedText: theme.on_accent,
        role.Link: theme.accent,
        role.PlaceholderText: theme.muted,
        role.ToolTipBase: theme.raised,
        role.ToolTipText: theme.text,
        role.Mid: theme.border,
        role.Accent: theme.accent,
    }
    for palette_role, colour in colours.items():
        palette.setColor(palette_role, QColor(colour))
    for palette_role in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, palette_role, QColor(theme.muted))
    return palette


def style_sheet(theme: Theme) -> str:
    """`assets/window.qss` with the colours of the theme, sizes in points, and pictures: a style
    sheet takes only files, so that each mark lies there in the colour of its theme."""
    base, accent = QColor(theme.base), QColor(theme.accent)
    values = {name: getattr(theme, name) for name in theme.__slots__} | {
        # Behind a selected row, on which swatches and coloured words are still seen.
        "pale": mixed(accent, base, 0.78).name(),
        # Under the pointer.
        "strong": mixed(accent, QColor(theme.text), 0.15).name(),
    }
    # So pale, or so dark, that the text of a bar is read on it.
    bars = ("accent", "bad", "warning", "good")
    values |= {f"bar_{name}": mixed(QColor(values[name]), base, 0.55).name() for name in bars}
    values |= {size: f"{points(size):.2f}" for size in SIZES}
    for name in ("check", "dash", "chevron-down", "chevron-right"):
        picture = install_layout.asset("icons", f"{name}-{theme.name}.svg")
        values[name.replace("-", "_")] = str(picture)
    return Template(install_layout.asset("window.qss").read_text("utf-8")).substitute(values)
