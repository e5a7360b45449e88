"""The style of the window's own parts, beside what the theme says of all widgets."""

from __future__ import annotations

from PySide6.QtGui import QColor

from app.gui.look.theme import Theme, mixed
from exporters import own


def window_style(theme: Theme) -> str:
    """A style sheet for the main window."""
    return f"""
    QMainWindow::separator {{ background: {theme.window}; width: 5px; height: 5px; }}
    QMainWindow::separator:hover {{ background: {theme.accent}; }}
    QToolBar {{ background: {theme.window}; border: none; spacing: 4px; padding: 4px 6px; }}
    QToolButton#columns {{ padding: 3px 20px 3px 8px; border: 1px solid {theme.border};
        border-radius: 4px; }}
    QToolButton#columns:hover, QToolButton#columns:focus {{ border-color: {theme.accent}; }}
    QToolButton#columns::menu-indicator {{ subcontrol-origin: border;
        subcontrol-position: center right; right: 6px; }}
    QToolBar QToolButton {{ padding: 4px 9px; border: 1px solid transparent; border-radius: 5px; }}
    QToolBar QToolButton:hover {{ background: {theme.raised}; }}
    QToolBar QToolButton:checked {{ background: {theme.raised}; border-color: {theme.border};
        font-weight: 600; }}
    QToolBar QToolButton:focus {{ border-color: {theme.accent}; }}
    QPushButton#primary {{ background: {theme.accent}; color: {theme.on_accent};
        border: 1px solid {theme.accent}; border-radius: 4px; padding: 6px 14px;
        font-weight: 600; }}
    QPushButton#primary:disabled {{ background: {theme.raised}; color: {theme.muted};
        border-color: {theme.border}; }}
    QPushButton#primary:focus {{ border-color: {theme.text}; }}
    QFrame#footer {{ background: {theme.raised}; border-top: 1px solid {theme.border}; }}
    QFrame#footer QLabel {{ background: transparent; }}
    QLabel[wrong="true"] {{ color: {theme.bad}; }}
    QProgressBar {{ background: {theme.raised}; border: 1px solid {theme.border};
        border-radius: 4px; text-align: center; color: {theme.text}; min-height: 18px; }}
    QProgressBar::chunk {{ background: {_mixed(theme)}; border-radius: 3px; }}
    QProgressBar[tone="error"]::chunk {{ background: {_toned(theme.bad, theme)}; }}
    QProgressBar[tone="warning"]::chunk {{ background: {_toned(theme.warning, theme)}; }}
    QProgressBar[tone="ok"]::chunk {{ background: {_toned(theme.good, theme)}; }}
    QLineEdit, QPlainTextEdit, QTreeView, QListView {{ background: {theme.base};
        border: 1px solid {theme.border}; border-radius: 4px; }}
    QLineEdit {{ padding: 3px 5px; }}
    QLineEdit:focus, QPlainTextEdit:focus, QTreeView:focus, QListView:focus {{
        border-color: {theme.accent}; }}
    QLineEdit[invalid="true"] {{ border: 1px solid {theme.bad}; }}
    QLineEdit:disabled {{ color: {theme.muted}; background: {theme.window}; }}
    QGroupBox {{ border: 1px solid {theme.border}; border-radius: 5px; margin-top: 1.4em; }}
    QGroupBox::title {{ subcontrol-origin: margin; left: 2px; padding: 0 2px; }}
    QTreeView::item, QListView::item {{ padding: 2px 0; }}
    QCheckBox::indicator, QTreeView::indicator {{ width: 13px; height: 13px;
        border: 1px solid {theme.muted}; border-radius: 3px; background: {theme.base}; }}
    QCheckBox::indicator:focus, QCheckBox::indicator:hover, QTreeView::indicator:hover {{
        border-color: {theme.accent}; }}
    QCheckBox::indicator:checked, QTreeView::indicator:checked {{ background: {theme.accent};
        border-color: {theme.accent}; image: url({_picture("check", theme)}); }}
    QTreeView::indicator:indeterminate {{ background: {theme.accent};
        border-color: {theme.accent}; image: url({_picture("dash", theme)}); }}
    QCheckBox:focus {{ color: {theme.accent}; }}
    QTabBar {{ qproperty-drawBase: 0; }}
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


def _picture(name: str, theme: Theme) -> str:
    """A mark in the colour that is read on the accent; style sheets only take files."""
    return str(own.asset("icons", f"{name}-{theme.name}.svg"))


def _toned(color: str, theme: Theme) -> str:
    """So pale, or so dark, that the bar's text is read on it."""
    return mixed(QColor(color), QColor(theme.base), 0.55).name()


def _mixed(theme: Theme) -> str:
    """The accent, light enough (or dark enough) for the bar's text to be read on it."""
    return "#2b4f80" if theme.dark else "#a9cbf5"
