"""Content-addressed store of exported files, the leases of running plans on its entries, and the
steps of an export: taken from the store where their key is found, else executed and stored.

A step's key holds the digest of the files that can change its bytes, not of the whole package: the
sources of the module that defines the step and of all that it imports, and the pinned packages.
Editing one definition does not export all others again, and no list of sources is kept by hand.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVarTuple

import psutil
from platformdirs import user_cache_dir

from exporters import install_layout
from exporters.codec import to_json
from exporters.file_access import file_sha256, private_folder
from exporters.size import parse_size
from exporters.types import ExportError, GraphlapError, Made

_OTHER_HOSTS_LEASE_S = 24 * 3600.0
"""Another host's processes cannot be seen from here: their leases count for a day."""

_SAME_START_MS = 10_000
"""A process's start is told from the boot time, which moves a little when the clock is set."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The process for which entries are kept: its host, its id, and when it began (ms)."""

    host: str
    pid: int
    started_ms: int

    @classmethod
    def process(cls, pid: int) -> Holder:
        """The holder for a process of this host; one that has just ended holds nothing."""
        try:
            start_time = psutil.Process(pid).create_time()
        except psutil.NoSuchProcess:
            start_time = 0.0
        return cls(socket.gethostname(), pid, round(start_time * 1e3))

    def file(self, folder: Path) -> Path:
        return folder / f"{self.started_ms}-{self.pid}-{self.host}"


def keys_of(holder: Holder, folder: Path) -> set[str]:
    """The keys that this holder has leased; a process that has ended needs none."""
    return set(_lines(holder.file(folder))) if holder.started_ms else set()


def add(holder: Holder, folder: Path, key: str) -> None:
    """Lease a key; leased twice it must be given back twice."""
    with holder.file(folder).open("a", encoding="ascii") as file:
        file.write(f"{key}\n")


def give_back(holder: Holder, folder: Path, keys: Sequence[str]) -> None:
    """End one lease of each key."""
    file = holder.file(folder)
    left = Counter(_lines(file)) - Counter(keys)
    file.write_text("".join(f"{key}\n" for key in left.elements()), "ascii")


def all_keys(folder: Path) -> set[str]:
    """The keys that any running process has leased; leases of ended ones are removed."""
    keys: set[str] = set()
    for file in folder.iterdir():
        if _is_held(file):
            keys.update(_lines(file))
        else:
            file.unlink(missing_ok=True)
    return keys


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("ascii").split()
    except FileNotFoundError:
        return []


def _is_held(file: Path) -> bool:
    started_ms, pid, host = file.name.split("-", 2)
    if host != socket.gethostname():
        return time.time() - file.stat().st_mtime < _OTHER_HOSTS_LEASE_S
    now = Holder.process(int(pid)).started_ms
    return bool(now) and abs(now - int(started_ms)) < _SAME_START_MS


DEFAULT_LIMIT_BYTES = 16 * 2**30
LIMIT_VARIABLE = "GRAPHLAP_CACHE_LIMIT"

_ABANDONED_AFTER_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Entry:
    """What one export left: JSON facts, and its files by the label they were stored under."""

    facts: Mapping[str, Any]
    files: Mapping[str, Path]


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What the cache holds; `in_use_bytes` is what running plans need and nobody may evict."""

    path: Path
    entries: int
    files: int
    size_bytes: int
    in_use_bytes: int


def default_root() -> Path:
    """$GRAPHLAP_CACHE, or the user's cache folder of this platform."""
    return Path(os.environ.get("GRAPHLAP_CACHE") or user_cache_dir("graphlap", appauthor=False))


def default_limit_bytes() -> int:
    """$GRAPHLAP_CACHE_LIMIT, in bytes or as 8GiB, or 16 GiB; ExportError for what is neither."""
    text = os.environ.get(LIMIT_VARIABLE) or str(DEFAULT_LIMIT_BYTES)
    try:
        return parse_size(f"{text}B" if text.isascii() and text.isdecimal() else text)
    except ValueError:
        raise ExportError(
            f"{LIMIT_VARIABLE} is {text!r:.40}, which is no amount of memory",
            "write it like 8GiB, or unset it",
        ) from None


def info(root: Path | None = None) -> CacheInfo:
    """What the cache at `root` (the default one for None) holds now."""
    return Store(root or default_root()).info()


def clear(root: Path | None = None) -> int:
    """Remove all that no running plan needs; gives the bytes freed."""
    return Store(root or default_root()).clear()


def part_bytes(folder: Path) -> int:
    """What a folder of the cache takes; a link is as large as its name."""
    return sum(path.lstat().st_size for path in folder.rglob("*"))


def clear_part(folder: Path) -> int:
    """Remove such a folder; gives the bytes freed. Who needs it at this moment may fail."""
    bytes_before = part_bytes(folder)
    shutil.rmtree(folder, ignore_errors=True)
    return bytes_before - part_bytes(folder)


def key_of(**parts: Any) -> str:
    """A key for JSON values by name; equal values give equal keys on every host."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class Store:
    """The store under one folder; any number of processes may use it at once.

    What `get` and `put` give is leased to the process `holder` (this one for 0) and stays
    until that process ends. An entry's modification time is when it was last used.
    """

    def __init__(self, root: Path, limit_bytes: int = DEFAULT_LIMIT_BYTES, holder: int = 0) -> None:
        self._root = root
        self._limit_bytes = limit_bytes
        self._objects = root / "objects"
        self._entries = root / "entries"
        self._aside = root / "aside"
        self._leases = root / "leases"
        try:
            private_folder(root)
            for folder in (self._objects, self._entries, self._aside, self._leases):
                folder.mkdir(exist_ok=True)
        except OSError as error:
            raise GraphlapError(
                f"the export cache {root} cannot be written ({error.strerror})",
                "set GRAPHLAP_CACHE to a folder of your own",
            ) from error
        self._holder = Holder.process(holder or os.getpid())
        self._leased_here: list[str] = []
        self._sweep_abandoned()

    def get(self, key: str) -> Entry | None:
        """The entry with every file verified; None if it is not there or is damaged.

        A damaged entry is left where it is: building it again replaces it, and removing it
        here could take away what another process has just rebuilt.
        """
        with self._lock_file(fcntl.LOCK_SH):
            path = self._entries / f"{key}.json"
            try:
                body = _read_entry(path)
                files = {label: self._objects / name for label, name in body["files"].items()}
                if any(file_sha256(file) != file.stem for file in files.values()):
                    return None
                os.utime(path)
            except (OSError, ValueError, KeyError, TypeError):
                return None
            self._lease(key)
        return Entry(body["facts"], files)

    def put(self, key: str, facts: Mapping[str, Any], files: Mapping[str, Path]) -> Entry:
        """Move the files, made in `scratch`, into the store and file them under the key."""
        entry_record = {
            label: self._objects / f"{file_sha256(path)}{path.suffix}"
            for label, path in files.items()
        }
        body = {
            "facts": dict(facts),
            "files": {label: path.name for label, path in entry_record.items()},
        }
        with self.scratch() as folder:
            draft = folder / "entry.json"
            draft.write_text(json.dumps({"sha256": key_of(body=body), "body": body}), "utf-8")
            with self._lock_file(fcntl.LOCK_SH):
                self._lease(key)
                for label, path in files.items():
                    path.replace(entry_record[label])
                draft.replace(self._entries / f"{key}.json")
        return Entry(body["facts"], entry_record)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A folder on the store's own file system for files that are still being made."""
        folder = Path(tempfile.mkdtemp(dir=self._aside))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def settle(self) -> None:
        """Bring the store within its limit; the least recently used goes first.

        ExportError if what the holder's plan needs is larger than the limit: then all that
        this store added to it is given back. What other running plans need stays, even
        where that exceeds the limit.
        """
        with self._lock_file(fcntl.LOCK_EX):
            if self._total() <= self._limit_bytes:
                return
            plan_bytes = self._size(keys_of(self._holder, self._leases))
            is_refused = plan_bytes > self._limit_bytes
            if is_refused:
                give_back(self._holder, self._leases, self._leased_here)
                self._leased_here.clear()
            self._evict(self._limit_bytes)
        if is_refused:
            raise ExportError(
                f"this plan needs at least {plan_bytes / 2**20:.1f} MiB of exported files, and the "
                f"export cache may hold {self._limit_bytes / 2**20:.1f} MiB",
                "raise the cache's limit, or measure fewer models at once",
            )

    def info(self) -> CacheInfo:
        """What the store holds now."""
        with self._lock_file(fcntl.LOCK_EX):
            return CacheInfo(
                path=self._root,
                entries=sum(1 for _ in self._entries.iterdir()),
                files=sum(1 for _ in self._objects.iterdir()),
                size_bytes=self._total(),
                in_use_bytes=self._size(all_keys(self._leases)),
            )

    def clear(self) -> int:
        """Remove all that no running plan needs; gives the bytes freed."""
        with self._lock_file(fcntl.LOCK_EX):
            return self._evict(0)

    def _evict(self, limit_bytes: int) -> int:
        """Remove unneeded objects until the rest fits or is needed; gives the bytes freed."""
        total = bytes_before = self._total()
        leased_keys = all_keys(self._leases)
        users: dict[str, set[Path]] = {path.name: set() for path in self._objects.iterdir()}
        entries = {path: self._object_names([path.stem]) for path in self._entries.iterdir()}
        for entry, names in entries.items():
            for name in names & users.keys():
                users[name].add(entry)

        def drop_unused(names: Iterable[str]) -> None:
            nonlocal total
            for name in [name for name in names if not users[name]]:
                del users[name]
                total -= (self._objects / name).stat().st_size
                (self._objects / name).unlink()

        drop_unused(list(users))
        for entry in sorted(entries, key=lambda path: path.stat().st_mtime_ns):
            if total <= limit_bytes:
                break
            if entry.stem not in leased_keys:
                entry.unlink()
                own_keys = entries[entry] & users.keys()
                for name in own_keys:
                    users[name].discard(entry)
                drop_unused(own_keys)
        return bytes_before - total

    def _total(self) -> int:
        with os.scandir(self._objects) as files:
            return sum(file.stat().st_size for file in files)

    def _size(self, keys: Iterable[str]) -> int:
        paths = [self._objects / name for name in self._object_names(keys)]
        return sum(path.stat().st_size for path in paths if path.exists())

    def _object_names(self, keys: Iterable[str]) -> set[str]:
        names: set[str] = set()
        for key in keys:
            try:
                names.update(_read_entry(self._entries / f"{key}.json")["files"].values())
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return names

    def _lease(self, key: str) -> None:
        add(self._holder, self._leases, key)
        self._leased_here.append(key)

    @contextmanager
    def _lock_file(self, kind: int) -> Iterator[None]:
        """Shared for reading and writing entries, alone for removing them."""
        with (self._root / "lock").open("w") as file:
            fcntl.flock(file, kind)
            yield

    def _sweep_abandoned(self) -> None:
        """Remove what killed processes left aside, long after they can still be at work."""
        for folder in self._aside.iterdir():
            try:
                is_abandoned = time.time() - folder.stat().st_mtime > _ABANDONED_AFTER_S
            except FileNotFoundError:
                continue
            if is_abandoned:
                shutil.rmtree(folder, ignore_errors=True)


def _read_entry(path: Path) -> dict[str, Any]:
    """An entry's body; ValueError if it does not have the digest that it was written with."""
    record = json.loads(path.read_text("utf-8"))
    body: dict[str, Any] = record["body"]
    if record["sha256"] != key_of(body=body):
        raise ValueError(path)
    return body


_PACKAGE = install_layout.module_name("exporters")
_FOLDER = Path(__file__).parent
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|.*)|import[ \t]+([\w.]+))",
    re.MULTILINE,
)
"""A statement of our formatted sources; a syntax tree takes thirty times as long, at each start."""
_NAME = re.compile(r"\w+")


@cache
def made_by(*modules: str, packages: tuple[str, ...]) -> Mapping[str, str]:
    """Digest of the sources of these modules of `exporters`, and the versions of the packages."""
    digest = hashlib.sha256()
    for path in sorted(sources(*modules)):
        digest.update(path.relative_to(_FOLDER).as_posix().encode())
        digest.update(path.read_bytes())
    return {"exporters": digest.hexdigest(), **{name: _version(name) for name in packages}}


def sources(*modules: str) -> frozenset[Path]:
    """The files of these modules and of all that they import of `exporters`, at any depth.

    Told from the text, without running any of them. A module that is no part of `exporters`
    has none.
    """
    paths: set[Path] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        path = _path(module)
        # What the store gives is what was put into it, under a key of its own: its code is in none.
        if path is None or path in paths or module == __name__:
            continue
        paths.add(path)
        waiting += _imports(path)
    return frozenset(paths)


@cache
def _imports(path: Path) -> tuple[str, ...]:
    """What a file imports, wherever in it, and the names that may be modules too."""
    names = []
    for module, import_text, whole in _IMPORT.findall(path.read_text("utf-8")):
        names += [whole] if whole else [module]
        names += [f"{module}.{name}" for name in _NAME.findall(import_text)]
    return tuple(names)


@cache
def _version(package: str) -> str:
    """A package's version; onnxruntime's builds share one module and differ in name."""
    from importlib.metadata import PackageNotFoundError, packages_distributions, version

    for name in (package, f"{package}-gpu"):
        with suppress(PackageNotFoundError):
            return version(name)
    # Which distribution a module is of is told by the file lists of all: a tenth of a second.
    distributions = packages_distributions().get(package, ())
    return version(distributions[0]) if distributions else "not installed"


def _path(module: str) -> Path | None:
    """The source of a module of this package; None for any other."""
    if not module.startswith(f"{_PACKAGE}."):
        return None
    stem = _FOLDER.joinpath(*module.removeprefix(f"{_PACKAGE}.").split("."))
    return next((p for p in (stem.with_suffix(".py"), stem / "__init__.py") if p.is_file()), None)


Ts = TypeVarTuple("Ts")


@dataclass(frozen=True, slots=True)
class Done:
    """What a step made, in the store, and whether it was there already."""

    entry: Entry
    stored: bool


def done(
    store: Store,
    step: Callable[[Path, *Ts], Made],
    *arguments: *Ts,
    key_facts: Mapping[str, Any] | None,
    packages: tuple[str, ...],
    extra_modules: tuple[str, ...] = (),
) -> Done:
    """The step's result for these arguments, made in a folder of the store if it is not kept.

    `key_facts` are JSON values that stand for the arguments, `packages` those whose version can
    change the result, and `extra_modules` our modules that the step reaches without importing them.
    Without `key_facts` nothing is looked up: the result is stored by what came out, which later
    ones do not replace.
    """
    key = ""
    if key_facts is not None:
        key = key_of(
            **key_facts, versions=made_by(step.__module__, *extra_modules, packages=packages)
        )
        entry = store.get(key)
        if entry is not None:
            return Done(entry, stored=True)
    with store.scratch() as folder:
        outcome = step(folder, *arguments)
        facts = {} if outcome.facts is None else to_json(outcome.facts)
        if not key:
            key = key_of(**{label: file_sha256(file) for label, file in outcome.files.items()})
        return Done(store.put(key, facts, outcome.files), stored=False)
