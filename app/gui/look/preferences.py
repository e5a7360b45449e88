"""What the window remembers between starts: theme, layouts, recent runs, folders.

One INI file with a version of its own. A layout of another version is forgotten, since panes
may have come or gone; everything else is kept and read defensively.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import platformdirs
from PySide6.QtCore import QByteArray, QSettings

LAYOUT_VERSION = 3
"""Raise it when panes are added or removed."""

RECENT = 12


class Preferences:
    """Typed access to their file; a value of the wrong kind counts as not there."""

    def __init__(self, path: Path | None = None) -> None:
        path = path or platformdirs.user_config_path("graphlap") / "window.ini"
        self._store = QSettings(str(path), QSettings.Format.IniFormat)
        if self._text("layout/version") != str(LAYOUT_VERSION):
            self._store.remove("layout")
            self._store.setValue("layout/version", LAYOUT_VERSION)

    @property
    def theme(self) -> str:
        return "dark" if self._text("theme") == "dark" else "light"

    @theme.setter
    def theme(self, name: str) -> None:
        self._store.setValue("theme", name)

    @property
    def runs_folder(self) -> Path:
        """Where runs started from the window are written."""
        text = self._text("runs_folder")
        return Path(text) if text else platformdirs.user_data_path("graphlap") / "runs"

    @runs_folder.setter
    def runs_folder(self, folder: Path) -> None:
        self._store.setValue("runs_folder", str(folder))

    def layout(self, name: str) -> QByteArray:
        """The saved bytes called `name`; empty where nothing is saved."""
        state = self._store.value(f"layout/{name}")
        return state if isinstance(state, QByteArray) else QByteArray()

    def save_layout(self, name: str, state: QByteArray) -> None:
        self._store.setValue(f"layout/{name}", state)

    @property
    def panes(self) -> dict[str, str]:
        """Which panes are folded, and the view that was in front."""
        try:
            data = json.loads(self._text("panes") or "{}")
        except ValueError:
            data = None
        pairs = data.items() if isinstance(data, dict) else ()
        return {name: text for name, text in pairs if isinstance(text, str)}

    @panes.setter
    def panes(self, panes: Mapping[str, str]) -> None:
        self._store.setValue("panes", json.dumps(dict(panes)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the results table that the user wants; none: the default ones."""
        return tuple(self._texts("columns"))

    @columns.setter
    def columns(self, names: Sequence[str]) -> None:
        self._store.setValue("columns", list(names))

    def recent_runs(self) -> tuple[Path, ...]:
        """Run folders, last opened first, without those that are gone."""
        return tuple(path for path in map(Path, self._texts("recent_runs")) if path.is_dir())

    def add_recent(self, folder: Path) -> None:
        text = str(folder.resolve())
        rest = [entry for entry in self._texts("recent_runs") if entry != text]
        self._store.setValue("recent_runs", [text, *rest][:RECENT])

    def clear_recent(self) -> None:
        self._store.remove("recent_runs")

    def sync(self) -> None:
        """Write to disk now."""
        self._store.sync()

    def _text(self, key: str) -> str:
        value = self._store.value(key)
        return value if isinstance(value, str) else "" if value is None else str(value)

    def _texts(self, key: str) -> list[str]:
        """Qt's INI files give a list of one back as a plain text."""
        value = self._store.value(key)
        if isinstance(value, str):
            return [value]
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
