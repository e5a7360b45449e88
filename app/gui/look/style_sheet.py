"""The style sheet of the window: flat controls, Inter in five sizes, focus that is seen."""

from __future__ import annotations

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
    """All parts, in the order in which Qt weighs them."""
    return "".join(
        part(theme) for part in (_text, _buttons, _fields, _lists, _bars, _status, _shell)
    )


def _text(theme: Theme) -> str:
    return f"""
    QToolTip {{ color: {theme.text}; background: {theme.raised};
        border: 1px solid {theme.control}; padding: 4px 6px; }}
    QLabel[muted="true"] {{ color: {theme.muted}; }}
    QLabel[wrong="true"] {{ color: {theme.bad}; }}
    QLabel[textSize="caption"] {{ font-size: {points("caption"):.2f}pt; }}
    QLabel[textSize="small"] {{ font-size: {points("small"):.2f}pt; }}
    QLabel[textSize="heading"] {{ font-size: {points("heading"):.2f}pt; font-weight: 600; }}
    QLabel[textSize="title"] {{ font-size: {points("title"):.2f}pt; font-weight: 600; }}
    """


def _buttons(theme: Theme) -> str:
    chevron = f"image: url({_picture('chevron-down', theme)}); width: 10px; height: 10px;"
    return f"""
    QPushButton {{ background: {theme.base}; color: {theme.text};
        border: 1px solid {theme.control}; border-radius: 5px; padding: 3px 12px; }}
    QPushButton:hover {{ background: {theme.raised}; }}
    QPushButton:pressed, QPushButton:checked {{ background: {_pale(theme)}; }}
    QPushButton:focus {{ border: 2px solid {theme.accent}; padding: 2px 11px; }}
    QPushButton:disabled {{ color: {theme.muted}; background: {theme.window};
        border-color: {theme.border}; }}
    QPushButton:flat {{ border-color: transparent; background: transparent; }}
    QPushButton:flat:hover {{ background: {theme.raised}; }}
    QPushButton:flat:focus {{ border: 2px solid {theme.accent}; }}
    QPushButton#primary {{ background: {theme.accent}; color: {theme.on_accent};
        border: 2px solid {theme.accent}; padding: 5px 14px; font-weight: 600; }}
    QPushButton#primary:hover {{ background: {_strong(theme)}; border-color: {_strong(theme)}; }}
    QPushButton#primary:disabled {{ background: {theme.raised}; color: {theme.muted};
        border-color: {theme.border}; }}
    QPushButton#primary:focus {{ border: 2px solid {theme.text}; padding: 5px 14px; }}
    QPushButton::menu-indicator {{ {chevron} subcontrol-origin: padding;
        subcontrol-position: right center; right: 6px; }}
    QToolButton {{ color: {theme.text}; border: 1px solid transparent; border-radius: 5px;
        padding: 3px 8px; background: transparent; }}
    QToolButton:hover {{ background: {theme.raised}; }}
    QToolButton:pressed, QToolButton:checked {{ background: {_pale(theme)}; }}
    QToolButton:focus {{ border-color: {theme.accent}; }}
    QToolButton:disabled {{ color: {theme.muted}; }}
    QToolButton[popupMode="2"] {{ padding-right: 20px; }}
    QToolButton[popupMode="2"]::menu-indicator {{ {chevron} subcontrol-origin: padding;
        subcontrol-position: right center; right: 5px; }}
    QToolButton::right-arrow {{ image: url({_picture("chevron-right", theme)}); }}
    QToolButton::down-arrow {{ image: url({_picture("chevron-down", theme)}); }}
    QToolButton#columns {{ border-color: {theme.control}; }}
    QToolButton#columns:focus {{ border-color: {theme.accent}; }}
    QToolButton[tone="error"] {{ color: {theme.bad}; }}
    QToolButton[tone="warning"] {{ color: {theme.warning}; }}
    QCheckBox::indicator, QTreeView::indicator, QListView::indicator {{ width: 13px; height: 13px;
        border: 1px solid {theme.control}; border-radius: 3px; background: {theme.base}; }}
    QCheckBox::indicator:hover, QTreeView::indicator:hover {{ border-color: {theme.accent}; }}
    QCheckBox::indicator:focus {{ border: 2px solid {theme.accent}; }}
    QCheckBox::indicator:checked, QTreeView::indicator:checked, QListView::indicator:checked {{
        background: {theme.accent}; border-color: {theme.accent};
        image: url({_picture("check", theme)}); }}
    QTreeView::indicator:indeterminate {{ background: {theme.accent};
        border-color: {theme.accent}; image: url({_picture("dash", theme)}); }}
    QCheckBox:focus {{ color: {theme.accent}; }}
    """


def _fields(theme: Theme) -> str:
    return f"""
    QLineEdit, QPlainTextEdit, QComboBox {{ background: {theme.base}; color: {theme.text};
        border: 1px solid {theme.control}; border-radius: 5px; }}
    QLineEdit, QComboBox {{ padding: 2px 6px; }}
    QLineEdit:focus, QPlainTextEdit:focus, QComboBox:focus {{ border-color: {theme.accent}; }}
    QLineEdit:focus, QComboBox:focus {{ border-width: 2px; padding: 1px 5px; }}
    QLineEdit[invalid="true"] {{ border: 2px solid {theme.bad}; padding: 1px 5px; }}
    QLineEdit:disabled, QComboBox:disabled {{ color: {theme.muted}; background: {theme.window};
        border-color: {theme.border}; }}
    QComboBox::drop-down {{ border: none; width: 20px; }}
    QComboBox::down-arrow {{ image: url({_picture("chevron-down", theme)}); width: 12px;
        height: 12px; }}
    QComboBox QAbstractItemView {{ background: {theme.base}; color: {theme.text};
        border: 1px solid {theme.control}; selection-background-color: {_pale(theme)};
        selection-color: {theme.text}; outline: 0; }}
    QGroupBox {{ border: none; border-top: 1px solid {theme.border}; margin-top: 1.5em;
        font-weight: 600; }}
    QGroupBox::title {{ subcontrol-origin: margin; left: 0; padding: 0 4px 0 0; }}
    """


def _lists(theme: Theme) -> str:
    return f"""
    QTreeView, QListView {{ background: {theme.base}; border: 1px solid {theme.border};
        border-radius: 5px; outline: 0; selection-background-color: {_pale(theme)};
        selection-color: {theme.text}; }}
    QTreeView:focus, QListView:focus, QTableView:focus {{ border-color: {theme.accent}; }}
    QTreeView::item, QListView::item {{ padding: 2px 0; }}
    QTreeView::branch:has-children:closed {{ image: url({_picture("chevron-right", theme)}); }}
    QTreeView::branch:has-children:open {{ image: url({_picture("chevron-down", theme)}); }}
    QHeaderView::section {{ background: {theme.window}; color: {theme.text}; padding: 4px 9px;
        border: none; border-right: 1px solid {theme.border};
        border-bottom: 1px solid {theme.border}; }}
    QHeaderView::down-arrow, QHeaderView::up-arrow {{ width: 9px; height: 9px;
        subcontrol-position: top center; }}
    QTableView::item {{ padding: 0 6px; }}
    QTableView {{ selection-background-color: {_pale(theme)}; selection-color: {theme.text};
        gridline-color: {theme.raised}; border: 1px solid {theme.border}; outline: 0; }}
    QTableCornerButton::section {{ background: {theme.window}; border: none; }}
    """


def _bars(theme: Theme) -> str:
    return f"""
    QScrollBar {{ background: transparent; border: none; }}
    QScrollBar:vertical {{ width: 10px; }}
    QScrollBar:horizontal {{ height: 10px; }}
    QScrollBar::handle {{ background: {theme.control}; border-radius: 3px; margin: 2px; }}
    QScrollBar::handle:vertical {{ min-height: 24px; }}
    QScrollBar::handle:horizontal {{ min-width: 24px; }}
    QScrollBar::handle:hover {{ background: {theme.muted}; }}
    QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
    QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
    QMenuBar {{ background: transparent; color: {theme.text}; }}
    QMenuBar::item {{ padding: 2px 8px; border-radius: 5px; background: transparent; }}
    QMenuBar::item:selected, QMenuBar::item:pressed {{ background: {theme.raised}; }}
    QMenu {{ background: {theme.base}; color: {theme.text}; border: 1px solid {theme.control};
        padding: 4px; }}
    QMenu::item {{ padding: 5px 22px 5px 22px; border-radius: 4px; }}
    QMenu::item:selected {{ background: {_pale(theme)}; }}
    QMenu::item:disabled {{ color: {theme.muted}; }}
    QMenu::separator {{ height: 1px; background: {theme.border}; margin: 4px 6px; }}
    QMenu::indicator {{ width: 12px; height: 12px; left: 5px; }}
    QMenu::indicator:checked {{ background: {theme.accent}; border-radius: 3px;
        image: url({_picture("check", theme)}); }}
    QMenu::right-arrow {{ image: url({_picture("chevron-right", theme)}); width: 12px;
        height: 12px; }}
    QTabBar {{ qproperty-drawBase: 0; }}
    QTabBar::tab {{ color: {theme.muted}; background: transparent; padding: 3px 10px;
        border: none; border-bottom: 2px solid transparent; }}
    QTabBar::tab:hover {{ color: {theme.text}; }}
    QTabBar::tab:selected {{ color: {theme.text}; border-bottom-color: {theme.accent}; }}
    QTabBar::tab:focus {{ background: {_pale(theme)}; }}
    QTabBar::tab:disabled {{ color: {theme.muted}; }}
    QSplitter::handle {{ background: {theme.border}; }}
    QSplitter::handle:hover {{ background: {theme.accent}; }}
    QMainWindow::separator {{ background: {theme.window}; width: 5px; height: 5px; }}
    QMainWindow::separator:hover {{ background: {theme.accent}; }}
    """


def _status(theme: Theme) -> str:
    return f"""
    QProgressBar {{ background: {theme.raised}; border: 1px solid {theme.control};
        border-radius: 4px; text-align: center; color: {theme.text}; min-height: 18px; }}
    QProgressBar::chunk {{ background: {_tone_color(theme.accent, theme)}; border-radius: 3px; }}
    QProgressBar[tone="error"]::chunk {{ background: {_tone_color(theme.bad, theme)}; }}
    QProgressBar[tone="warning"]::chunk {{ background: {_tone_color(theme.warning, theme)}; }}
    QProgressBar[tone="ok"]::chunk {{ background: {_tone_color(theme.good, theme)}; }}
    QStatusBar {{ color: {theme.muted}; }}
    QStatusBar::item {{ border: none; }}
    QStatusBar QLabel {{ color: {theme.text}; }}
    QStatusBar QLabel[muted="true"] {{ color: {theme.muted}; }}
    QStatusBar QProgressBar {{ min-height: 0; }}
    QLabel#standing {{ color: {theme.base}; font-weight: 600; border-radius: 3px;
        padding: 1px 7px; }}
    QLabel#standing[tone="error"] {{ background: {theme.bad}; }}
    QLabel#standing[tone="warning"] {{ background: {theme.warning}; }}
    QLabel#standing[tone="ok"] {{ background: {theme.good}; }}
    """


def _shell(theme: Theme) -> str:
    return f"""
    QFrame#footer {{ background: {theme.window}; border-top: 1px solid {theme.border}; }}
    QFrame#footer QLabel {{ background: transparent; }}
    QPushButton#drop {{ border: 2px dashed {theme.control}; border-radius: 8px; padding: 22px;
        background: {theme.base}; color: {theme.muted}; }}
    QPushButton#drop:hover {{ background: {_pale(theme)}; color: {theme.text}; }}
    QPushButton#drop:focus {{ border-color: {theme.accent}; padding: 22px; }}
    QPushButton[row="true"], QPushButton#live {{ text-align: left; padding: 0; }}
    QPushButton#live {{ border: 1px solid {theme.accent}; background: {_pale(theme)}; }}
    """


def _picture(name: str, theme: Theme) -> str:
    """A mark in the colour that is read on its ground; style sheets only take files."""
    return str(install_layout.asset("icons", f"{name}-{theme.name}.svg"))


def _pale(theme: Theme) -> str:
    """The accent behind a selected row, on which swatches and coloured words are still seen."""
    return mixed(QColor(theme.accent), QColor(theme.base), 0.78).name()


def _strong(theme: Theme) -> str:
    """The accent under the pointer."""
    return mixed(QColor(theme.accent), QColor(theme.text), 0.15).name()


def _tone_color(color: str, theme: Theme) -> str:
    """So pale, or so dark, that the bar's text is read on it."""
    return mixed(QColor(color), QColor(theme.base), 0.55).name()
