"""Rows and statistics that a reader computed before, in the user's own cache: one file for a run.

A run folder holds none of them, so that a stranger's folder brings no figure that its samples do
not have. The file is called by the run's id and the folder's place. Deleting it loses nothing but
time. It has JSON lines, each with its checksum, and is replaced whole: a reader sees the old file
or the new one without any lock, so that no writer of the run ever waits for a reader. Two readers
that finish together leave the entries of the later one. SQLite would need locks and a journal of
its own.

An entry has a name and holds for one key: a digest of everything that its values are computed
from (`app/columns/row_statistics.py`). One under another key, or with another checksum, does not
count.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from app.run_folder.files import LINE, replacing, text_digest
from exporters.cache import default_root
from exporters.codec import CodecError, to_brief_json
from exporters.file_access import private_folder, read_file

MOST_BYTES = 1 << 30
"""Of all files; the least recently written go first."""
_ENTRY = re.compile(rb'\{"name":"([^"\\]{1,80})","key":"([0-9a-f]{32})",')
SETTLED_NS = 2 * 10**9
"""A file system's times may be as coarse as this."""
_FILES, _ANY_KEY = "files", 32 * "0"
Content = tuple[int, int]
"""How many bytes a file of samples has, and their CRC-32."""


def folder() -> Path:
    """A part of the cache, which need not be there yet."""
    return default_root() / "statistics"


class StatisticsStore:
    """The stored statistics of one run, read when the first is asked for.

    `put` holds values until `save` writes them.
    """

    def __init__(self, run: Path, run_id: str) -> None:
        place = f"{run_id}\n{run.absolute()}"
        self.path = folder() / f"{text_digest(place.encode(errors='surrogateescape'))}.jsonl"
        self._entries: dict[str, tuple[str, bytes]] | None = None
        self._new_entries: dict[str, tuple[str, Any]] = {}
        self._files: dict[str, list[int]] | None = None
        self._has_new_files = False

    def content(self, path: Path) -> Content:
        """The size and checksum of a file of samples, which is read unless nothing has written to
        it since it was; OSError."""
        status = path.stat()
        *identity, checksum = self._known_files().get(path.name, [0])
        if identity == _identity(status):
            return status.st_size, checksum
        data = read_file(path)
        self.remember(path, status, (len(data), crc32(data)))
        return len(data), crc32(data)

    def remember(self, path: Path, status: os.stat_result, content: Content) -> None:
        """Know a file of samples, which had this status before it was read.

        One that has just changed may change again within a tick of the file system's clock.
        """
        if time.time_ns() - status.st_ctime_ns > SETTLED_NS and content[0] == status.st_size:
            self._known_files()[path.name] = [*_identity(status), content[1]]
            self._has_new_files = True

    def _known_files(self) -> dict[str, list[int]]:
        if self._files is None:
            self._files = dict(self.get(_FILES, _ANY_KEY) or {})
        return self._files

    def knows(self, name: str) -> bool:
        """Whether there is an entry of this name, under whichever key."""
        return name in self._read()

    def has(self, name: str, key: str) -> bool:
        """Whether there is a whole entry of this name under this key."""
        text = self._text(name, key)
        return text is not None and LINE.is_sealed(text)

    def get(self, name: str, key: str) -> Mapping[str, Any] | None:
        """The JSON values of a whole entry; None where it is missing or damaged."""
        text = self._text(name, key)
        if text is None or not LINE.is_sealed(text):
            return None
        try:
            values = json.loads(text)["values"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        return values if isinstance(values, dict) else None

    def put(self, name: str, key: str, values: Any) -> None:
        """Add an entry, in the place of any other of this name; it is written by `save`."""
        self._new_entries[name] = key, values

    def save(self) -> None:
        """Write what was added, and hold no text any more. A cache that can't be written is left as
        it is: the statistics are computed again by the next reader."""
        self._entries = None
        if self._has_new_files:
            self.put(_FILES, _ANY_KEY, self._files)
            self._has_new_files = False
        if not self._new_entries:
            return
        entries = _entries_in(self.path)
        for name, (key, values) in self._new_entries.items():
            with contextlib.suppress(CodecError, ValueError):
                entries[name] = key, _line(name, key, values)
        with contextlib.suppress(OSError):
            private_folder(default_root())
            self.path.parent.mkdir(exist_ok=True)
            # Of readers that were killed.
            for draft in self.path.parent.glob(f".{self.path.name}.*"):
                draft.unlink(missing_ok=True)
            with replacing(self.path, durable=False) as file:
                file.writelines(text + b"\n" for _, text in entries.values())
            _drop_oldest(self.path.parent)
        self._new_entries.clear()

    def _text(self, name: str, key: str) -> bytes | None:
        stored_key, text = self._read().get(name, ("", b""))
        return text if stored_key == key else None

    def _read(self) -> Mapping[str, tuple[str, bytes]]:
        if self._entries is None:
            self._entries = _entries_in(self.path)
        return self._entries


def _identity(status: os.stat_result) -> list[int]:
    """What changes with any change of a file: its status changes even where its size and its time
    are set to what they were, as a copy has another inode."""
    return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _line(name: str, key: str, values: Any) -> bytes:
    entry = {"name": name, "key": key, "values": to_brief_json(values)}
    return LINE.sealed(json.dumps(entry, separators=(",", ":")).encode())


def _entries_in(path: Path) -> dict[str, tuple[str, bytes]]:
    """Key and line by name; nothing of a file that can't be read, and no line that is cut."""
    try:
        *lines, _ = read_file(path, most_bytes=MOST_BYTES).split(b"\n")
    except OSError:
        return {}
    matches = ((_ENTRY.match(text), text) for text in lines)
    return {
        entry[1].decode(errors="replace"): (entry[2].decode(), text)
        for entry, text in matches
        if entry is not None
    }


def _drop_oldest(folder: Path) -> None:
    """Remove what is more than the cache may hold."""
    newest = sorted(
        ((path.stat(), path) for path in folder.iterdir()), key=lambda file: -file[0].st_mtime_ns
    )
    total = 0
    for status, path in newest:
        total += status.st_size
        if total > MOST_BYTES:
            path.unlink(missing_ok=True)
