"""`statistics.jsonl` of a run folder: statistics of samples and rows, so that readers compute each
once.

A cache. Any reader may write it, the batch mode writes it as a run ends, and whoever deletes it
loses nothing but time. One file of JSON lines, each with its checksum, replaced whole: a reader
sees the old file or the new one without any lock, so that no writer of the run ever waits for a
reader. Two readers that finish together leave the entries of the later one. SQLite would need
locks and a journal of its own, and one file for each case would double the files of a folder.

An entry has a name and holds for one key: a digest of everything that its values are computed from
(`row_statistics.py`, `stored_rows.py`). One under another key, or with another checksum, does not
count.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.results.atomic import replacing
from app.results.checksum import LINE
from exporters.codec import CodecError, to_brief_json
from exporters.regular import read_file

STATISTICS = "statistics.jsonl"
LARGEST_BYTES = 1 << 30
"""Of the file: a folder may come from a stranger."""
_ENTRY = re.compile(rb'\{"name":"([^"\\]{1,80})","key":"([0-9a-f]{32})",')


class StatisticsStore:
    """The stored statistics of one run folder, read when the first is asked for.

    `put` holds values until `save` writes them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entries: dict[str, tuple[str, bytes]] | None = None
        self._added: dict[str, tuple[str, Any]] = {}

    def knows(self, name: str) -> bool:
        """Whether there is an entry of this name, under whichever key."""
        return name in self._read()

    def has(self, name: str, key: str) -> bool:
        """Whether there is a whole entry of this name under this key."""
        text = self._text(name, key)
        return text is not None and LINE.is_sealed(text)

    def get(self, name: str, key: str) -> Mapping[str, Any] | None:
        """The JSON values of an entry; None if there is none, or a damaged one."""
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
        self._added[name] = key, values

    def save(self) -> None:
        """Write what was added. A folder that can't be written is left as it is: the statistics
        are computed again by the next reader."""
        if not self._added:
            return
        entries = _entries_in(self._folder / STATISTICS)
        for name, (key, values) in self._added.items():
            with contextlib.suppress(CodecError, ValueError):
                entries[name] = key, _line(name, key, values)
        with contextlib.suppress(OSError):
            self._remove_drafts()
            with replacing(self._folder / STATISTICS, durable=False) as file:
                file.writelines(text + b"\n" for _, text in entries.values())
        self._entries = entries
        self._added.clear()

    def _text(self, name: str, key: str) -> bytes | None:
        known, text = self._read().get(name, ("", b""))
        return text if known == key else None

    def _read(self) -> Mapping[str, tuple[str, bytes]]:
        if self._entries is None:
            self._entries = _entries_in(self._folder / STATISTICS)
        return self._entries

    def _remove_drafts(self) -> None:
        """Of readers that were killed while they wrote. One that is writing now fails, and what it
        computed is computed again."""
        for draft in self._folder.glob(f".{STATISTICS}.*"):
            draft.unlink(missing_ok=True)


def _line(name: str, key: str, values: Any) -> bytes:
    entry = {"name": name, "key": key, "values": to_brief_json(values)}
    return LINE.sealed(json.dumps(entry, separators=(",", ":")).encode())


def _entries_in(path: Path) -> dict[str, tuple[str, bytes]]:
    """Key and line by name; nothing of a file that can't be read, and no line that is cut."""
    try:
        *lines, _ = read_file(path, most_bytes=LARGEST_BYTES).split(b"\n")
    except OSError:
        return {}
    found = ((_ENTRY.match(text), text) for text in lines)
    return {
        entry[1].decode(errors="replace"): (entry[2].decode(), text)
        for entry, text in found
        if entry is not None
    }
