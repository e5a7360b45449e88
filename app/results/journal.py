"""`journal/<writer>.jsonl`: one line per finished round, on disk before the next one starts.

Each writer appends to a file of its own, so nothing is ever written after a torn line;
`reader` merges all of them.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.results.checksum import LINE

FOLDER = "journal"
_MOST_NAMED = 50


class Journal:
    """The writer's side: `append` returns once the line is on disk; `lines` counts them.

    `host` is whose lines it has, this machine's where it is empty.
    """

    def __init__(self, folder: Path, host: str = "") -> None:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        self.writer = f"{stamp}-{_plain(host or socket.gethostname())}-{os.getpid()}"
        self.name = f"{self.writer}.jsonl"
        self._path = folder / FOLDER / self.name
        self._file: int | None = None
        self.lines = 0

    def append(self, *lines: Mapping[str, Any]) -> None:
        """Write JSON lines and flush them to the disk together; OSError if that fails."""
        if self._file is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
            self._file = os.open(self._path, flags, 0o644)
            flush_folder(self._path.parent)
        data = journal_text(lines)
        while data:
            data = data[os.write(self._file, data) :]
        os.fsync(self._file)
        self.lines += len(lines)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def journal_text(lines: Iterable[Mapping[str, Any]]) -> bytes:
    """JSON lines as a journal has them, each with its checksum."""
    return b"".join(line_text(line) + b"\n" for line in lines)


def line_text(line: Mapping[str, Any]) -> bytes:
    """One of them, without its line break."""
    return LINE.sealed(json.dumps(line, separators=(",", ":"), default=str).encode())


def flush_folder(folder: Path) -> None:
    """Make a new directory entry survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _plain(text: str) -> str:
    """As a part of a file's name, of which a file system takes 255 bytes."""
    return "".join(c if c.isalnum() or c in "-." else "_" for c in text[:_MOST_NAMED]) or "host"
