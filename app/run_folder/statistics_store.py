"""What a reader made of a run folder before, in the user's own cache: one file for a folder.

A run folder holds none of it, so that a stranger's folder brings no figure that its samples do not
have. The file is called by the folder's place. It holds for one program and one state of the files
that readers read, each known by its inode, size and times, so that no line is decoded and no sample
looked at again. Deleting it loses nothing but time. It is replaced whole: a reader sees the old
file or the new one without any lock, so that no writer of the run ever waits for a reader. Of two
readers that finish together the later one's stays.

It has parts, each a pickle with its checksum, which holds nothing but values of our own dataclasses
and of Python: another class is refused when it is read.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pickle
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path, PosixPath
from sys import intern
from typing import Any, BinaryIO
from zlib import crc32

from app.run_folder.files import replacing, text_digest
from exporters.cache import default_root
from exporters.file_access import open_file, private_folder
from exporters.install_layout import module_name

MOST_BYTES = 1 << 30
"""Of all files; the least recently written go first."""
SETTLED_NS = 2 * 10**9
"""A file system's times may be as coarse as this."""
JOURNALS = "journal"
_FOLDERS = (JOURNALS, "samples", "telemetry", "operators", "hosts")
_START = struct.Struct("<QII")
"""Where the table of parts begins, its length and its checksum."""
_LONGEST_TABLE, _PIECE_BYTES = 1 << 24, 1 << 20


def folder() -> Path:
    """A part of the cache, which need not be there yet."""
    return default_root() / "statistics"


def file_states(run: Path) -> dict[str, tuple[int, int, int, int]]:
    """What changes with any change of a file, of each that a reader may read, by its path within
    the folder; OSError.

    A file's status changes even where its size and its time are set to what they were, as a copy
    has another inode.
    """
    states = {"manifest.json": _state((run / "manifest.json").stat())}
    folders = [name for name in _FOLDERS if (run / name).is_dir()]
    while folders:
        name = folders.pop()
        with os.scandir(run / name) as entries:
            for entry in entries:
                path = f"{name}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    folders.append(path)
                else:
                    with contextlib.suppress(FileNotFoundError):  # a link to nothing
                        states[path] = _state(entry.stat())
    return states


def _state(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


class StatisticsStore:
    """The stored parts of one run. It is made before any file of the run is read, so that what
    somebody changes meanwhile is never taken for what was read.

    `put` holds values until `save` writes them.
    """

    def __init__(self, run: Path, program: str) -> None:
        place = os.fsencode(run.absolute())
        self.path = folder() / f"{text_digest(place)}.parts"
        self.later_journals: tuple[str, ...] = ()
        self._program = program
        self._begun_ns = time.time_ns()
        self._states = file_states(run)
        self._parts: dict[str, Any] = {}
        self._table = b""

    @property
    def is_new(self) -> bool:
        """Whether there is something to `save`."""
        return bool(self._parts)

    def load(self, name: str) -> Any:
        """A part as it was put; None where it is missing or damaged, or of another state.

        `later_journals` are then those that have come since.
        """
        with (
            contextlib.suppress(
                *(OSError, ValueError, TypeError, KeyError, EOFError, AttributeError, ImportError),
                *(struct.error, pickle.UnpicklingError, IndexError, RecursionError, MemoryError),
            ),
            open_file(self.path) as file,
        ):
            place, length, checksum = self._table_of(file)[name]
            file.seek(place)
            if checksum != _checksum(file, length):
                return None
            file.seek(place)
            with _without_collection():
                return _Unpickler(file).load()
        return None

    def put(self, name: str, value: Any) -> None:
        """Add a part, which is written by `save`."""
        self._parts[name] = value

    def save(self) -> None:
        """Write what was put, in the place of all that was there. A cache that can't be written is
        left as it is: the next reader reads the run again.

        Of a file that has just changed, which may change again within a tick of the file system's
        clock, nothing is stored.
        """
        parts, self._parts = self._parts, {}
        newest_ns = max(changed_ns for *_, changed_ns in self._states.values())
        if not parts or self._begun_ns - newest_ns <= SETTLED_NS:
            return
        with contextlib.suppress(OSError, pickle.PicklingError, TypeError, RecursionError):
            private_folder(default_root())
            self.path.parent.mkdir(exist_ok=True)
            # Of readers that were killed.
            for draft in self.path.parent.glob(f".{self.path.name}.*"):
                draft.unlink(missing_ok=True)
            with replacing(self.path, durable=False) as file:
                self._write(file, parts)
            _drop_oldest(self.path.parent)

    def _write(self, file: BinaryIO, parts: Mapping[str, Any]) -> None:
        places = {}
        file.write(bytes(_START.size))
        for name, value in parts.items():
            place, summing = file.tell(), _Summing(file)
            pickler = pickle.Pickler(summing, protocol=5)
            pickler.dispatch_table = _Reducers()
            pickler.dump(value)
            places[name] = place, file.tell() - place, summing.checksum
        journals = sorted(name for name in self._states if _is_journal(name))
        table = {"state": self._digest(journals), "journals": journals, "parts": places}
        start, text = file.tell(), json.dumps(table).encode()
        file.write(text)
        file.seek(0)
        file.write(_START.pack(start, len(text), crc32(text)))

    def _table_of(self, file: BinaryIO) -> Mapping[str, tuple[int, int, int]]:
        """Where each part is, its length and its checksum; ValueError for a file that does not hold
        for this state."""
        start, length, checksum = _START.unpack(file.read(_START.size))
        file.seek(start)
        text = file.read(min(length, _LONGEST_TABLE))
        if crc32(text) != checksum:
            raise ValueError
        table = json.loads(text)
        if text != self._table:  # else it is known to hold
            journals = table["journals"]
            if table["state"] != self._digest(journals):
                raise ValueError
            self._table = text
            new = self._states.keys() - set(journals)
            self.later_journals = tuple(sorted(filter(_is_journal, new)))
        parts: Mapping[str, tuple[int, int, int]] = table["parts"]
        return parts

    def _digest(self, journals: list[str]) -> str:
        """Of program and files, of their journals only these."""
        known = set(journals)
        states = sorted(
            (n, *s) for n, s in self._states.items() if n in known or not _is_journal(n)
        )
        return text_digest(repr((self._program, states)).encode(errors="surrogateescape"))


def _is_journal(name: str) -> bool:
    return name.startswith(f"{JOURNALS}/")


class _Summing:
    """Writes to a file, and knows the checksum of what it wrote."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.checksum = 0

    def write(self, data: Any) -> int:
        self.checksum = crc32(data, self.checksum)
        return self._file.write(data)


def _checksum(file: BinaryIO, length: int) -> int:
    """Of the next bytes of a file, which are never held together."""
    checksum = 0
    while length > 0 and (data := file.read(min(length, _PIECE_BYTES))):
        checksum, length = crc32(data, checksum), length - len(data)
    return checksum


_OURS = tuple(module_name(f"{name}.") for name in ("app", "exporters", "runtimes"))


_LINKED = module_name("app.run")
"""Where ledgers and runs are, which refer to the same dictionaries and add to them."""
_SCALARS = frozenset({bool, int, float, str, type(None)})


def shared(value: Any) -> Any:
    """The same text for equal texts, so that a large run holds each once."""
    return intern(value) if type(value) is str else value


class _Reducers(dict[type, Callable[[Any], Any]]):
    """By the class of a dataclass how to make it again: by its arguments, in their order, which is
    faster than what `pickle` does, and checks them as its own code does."""

    def __init__(self) -> None:
        self._mappings: dict[str, dict[str, Any]] = {}

    def __missing__(self, kind: type) -> Callable[[Any], Any]:
        if not is_dataclass(kind) or not all(f.init and not f.kw_only for f in fields(kind)):
            raise KeyError(kind)
        names = [field.name for field in fields(kind)]
        take = self._shared if not kind.__module__.startswith(_LINKED) else shared

        def reduce(value: Any) -> tuple[type, tuple[Any, ...]]:
            return kind, tuple(take(getattr(value, name)) for name in names)

        self[kind] = reduce
        return reduce

    def _shared(self, value: Any) -> Any:
        """Of mappings of scalars too: thousands of rounds have the same options."""
        if type(value) is dict and _SCALARS.issuperset(map(type, value.values())):
            return self._mappings.setdefault(repr(value), value)
        return shared(value)


class _Unpickler(pickle.Unpickler):
    """Knows no class but values of ours: a damaged file makes nothing happen."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (PosixPath.__module__, PosixPath.__name__):
            return PosixPath
        kind = super().find_class(module, name) if module.startswith(_OURS) else None
        if isinstance(kind, type) and (is_dataclass(kind) or issubclass(kind, dict | tuple)):
            return kind
        raise pickle.UnpicklingError(f"{module}.{name} is refused")


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Among a million new values that are all kept there is nothing to collect."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


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
