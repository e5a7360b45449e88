"""A content-addressed store of exported files, with an entry for each thing asked for.

`objects/` holds each file once under its sha256; `entries/` holds, by key, the facts and
the objects of one export. Everything is written aside and moved into place, so that
writers need no lock and a kill leaves at worst a file that nothing refers to.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_cache_dir

from exporters.types import GraphlapError

_ABANDONED_AFTER_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Entry:
    """What one export left: JSON facts, and its files by the label they were stored under."""

    facts: Mapping[str, Any]
    files: Mapping[str, Path]


def default_root() -> Path:
    """$GRAPHLAP_CACHE, or the user's cache folder of this platform."""
    return Path(os.environ.get("GRAPHLAP_CACHE") or user_cache_dir("graphlap", appauthor=False))


def key_of(**parts: Any) -> str:
    """A key for JSON values by name; equal values give equal keys on every host."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def file_sha256(path: Path) -> str:
    """The sha256 of a file's content in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Store:
    """The store under one folder; any number of processes may use it at once.

    An entry's modification time is when it was last used, which is all that evicting the
    least recently used needs to know.
    """

    def __init__(self, root: Path) -> None:
        self._objects = root / "objects"
        self._entries = root / "entries"
        self._aside = root / "aside"
        try:
            for folder in (self._objects, self._entries, self._aside):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise GraphlapError(
                f"the export cache {root} cannot be written ({error.strerror})",
                "set GRAPHLAP_CACHE to a folder of your own",
            ) from error
        self._sweep_abandoned()

    def get(self, key: str) -> Entry | None:
        """The entry with every file verified; None if it is not there or is damaged.

        A damaged entry is left where it is: building it again replaces it, and removing it
        here could take away what another process has just rebuilt.
        """
        path = self._entries / f"{key}.json"
        try:
            record = json.loads(path.read_text("utf-8"))
            body = record["body"]
            if record["sha256"] != key_of(body=body):
                return None
            files = {label: self._objects / name for label, name in body["files"].items()}
            if any(file_sha256(file) != file.stem for file in files.values()):
                return None
            os.utime(path)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return Entry(body["facts"], files)

    def put(self, key: str, facts: Mapping[str, Any], files: Mapping[str, Path]) -> Entry:
        """Move the files into the store and file them with the facts under the key."""
        stored = {label: self.keep(path) for label, path in files.items()}
        body = {
            "facts": dict(facts),
            "files": {label: path.name for label, path in stored.items()},
        }
        with self.scratch() as folder:
            draft = folder / "entry.json"
            draft.write_text(json.dumps({"sha256": key_of(body=body), "body": body}), "utf-8")
            draft.replace(self._entries / f"{key}.json")
        return Entry(body["facts"], stored)

    def keep(self, path: Path) -> Path:
        """Move one file from `scratch` into the objects; its place is named by its content."""
        target = self._objects / f"{file_sha256(path)}{path.suffix}"
        path.replace(target)
        return target

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder on the store's own file system for files that are still being made."""
        folder = Path(tempfile.mkdtemp(dir=self._aside))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _sweep_abandoned(self) -> None:
        """Remove what killed processes left aside, long after they can still be at work."""
        for folder in self._aside.iterdir():
            try:
                abandoned = time.time() - folder.stat().st_mtime > _ABANDONED_AFTER_S
            except FileNotFoundError:
                continue
            if abandoned:
                shutil.rmtree(folder, ignore_errors=True)
