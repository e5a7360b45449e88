"""What is damaged in a run folder, found by `graphlap verify` in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.gui.launch.own_command import OwnCommand
from app.run_folder.files import Finding
from app.run_folder.run import SAMPLES

_EXIT_CODES = (0, 1)
"""Of a folder that is whole, and of one that is damaged."""


class DamageCheck(QObject):
    """`found` carries the folder and its Findings, harmless ones left out."""

    found = Signal(object, object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._folder: Path | None = None
        self._command: OwnCommand | None = None

    def look(self, folder: Path) -> None:
        """Look through this folder; what was looked at before is left."""
        self.close()
        self._folder = folder
        self._command = OwnCommand("a run folder is being checked", self)
        self._command.ended.connect(self._ended)
        self._command.failed.connect(self._failed)
        self._command.start(["verify", str(folder), "-f", "json"], good=_EXIT_CODES)

    def close(self) -> None:
        if self._command is not None:
            self._command.close()
            self._command.deleteLater()
            self._command = None

    def _ended(self, _code: int, printed: str) -> None:
        self.found.emit(self._folder, findings(printed))

    def _failed(self, error: Exception) -> None:
        """A folder that can't be looked at is damaged itself."""
        self.found.emit(
            self._folder, (Finding("run_unreadable", "", str(error), "see graphlap verify"),)
        )


def findings(printed: str) -> tuple[Finding, ...]:
    """What the command found, from its document."""
    tables = (block for block in json.loads(printed)["blocks"] if block["type"] == "table")
    rows = next(tables)["rows"]
    return tuple(
        Finding(row["code"], row["file"], row["finding"], row["action"])
        for row in rows
        if row["verdict"] == "damaged"
    )


def damaged_cases(found: tuple[Finding, ...]) -> dict[str, str]:
    """By the id of a case what is damaged of its samples."""
    told: dict[str, list[str]] = {}
    for one in found:
        folder, _, name = one.file.rpartition("/")
        if folder == SAMPLES and "." in name:
            told.setdefault(name.partition(".")[0], []).append(f"{name} {one.problem}")
    return {case_id: "; ".join(what) for case_id, what in told.items()}
