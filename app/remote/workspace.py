"""The workspace of an agent: its own folder, and files of jobs kept by content within a bound."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Lock

from app.cases.errors import disk_remedy
from app.remote.contract import CarrierError, HostFile
from exporters.file_access import file_sha256

_LOCK = "lock"
_NEW = "."
"""How a folder's name begins until it is locked."""
_NEVER_LOCKED_S = 86400.0
"""One that is still called so is of an agent that was killed; clocks of hosts may differ."""


class OwnFolder:
    """Made in `parent`, where those that were abandoned are removed; OSError."""

    def __init__(self, parent: Path) -> None:
        parent.mkdir(exist_ok=True)
        for other in parent.iterdir():
            if _is_abandoned(other):
                shutil.rmtree(other, ignore_errors=True)
        new = Path(tempfile.mkdtemp(prefix=_NEW, dir=parent))
        self._lock: int | None = os.open(new / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        with contextlib.suppress(OSError):  # a file system without locks: nobody removes it then
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.path = new.rename(parent / new.name.removeprefix(_NEW))

    def close(self) -> None:
        """Remove it with all that is in it; idempotent."""
        if self._lock is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = None


def _is_abandoned(folder: Path) -> bool:
    try:
        if folder.name.startswith(_NEW):
            return time.time() - folder.stat().st_mtime > _NEVER_LOCKED_S
        lock = os.open(folder / _LOCK, os.O_RDWR)
    except OSError:  # it was removed at this moment
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


_FORGOTTEN_S = 600.0
"""A file of which nothing more has come for so long was given up by who brought it."""
MOST_COMING = 64
"""So many files may be here in part at once: a sweep brings one after another."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


class FileStore:
    """`root` is a folder that is there; it holds `limit_bytes` at most. What comes in parts lies in
    `aside`, an agent's own folder on the same disk. CarrierError where it can't be written."""

    def __init__(self, root: Path, limit_bytes: int, aside: Path) -> None:
        self._root, self._limit_bytes = root, limit_bytes
        self._files, self._aside = root / "files", aside
        self._coming: dict[str, Path] = {}
        self._keeping = Lock()
        self._sound: dict[str, tuple[int, ...]] = {}
        with disk_there(root):
            self._files.mkdir(exist_ok=True)

    def lacks(self, files: Iterable[HostFile]) -> tuple[str, ...]:
        """The sha256 of those that are not here whole; the others count as used now."""
        with disk_there(self._root):
            return tuple(dict.fromkeys(file.sha256 for file in files if not self._has(file.sha256)))

    def keep(self, sha256: str, offset: int, data: bytes, size_bytes: int) -> None:
        """Take the next block of a file, and file it once all `size_bytes` are here.

        Several sweeps may bring one file at once: what is here of it is not taken again.
        CarrierError for a block that does not follow, a content of another sum, a file that is
        larger than the store may be, and a disk that is full.
        """
        if not 0 <= offset <= offset + len(data) <= size_bytes:
            raise CarrierError(f"a block of the file {sha256:.12} lies outside it", "start again")
        if size_bytes > self._limit_bytes:
            raise CarrierError(
                f"a file of {size_bytes / 2**20:,.0f} MiB is needed there, and the store of files "
                f"may hold {self._limit_bytes / 2**20:,.0f} MiB",
                "set GRAPHLAP_CACHE_LIMIT there to more",
            )
        place = self._place(sha256)
        with self._keeping, disk_there(self._root):
            if sha256 not in self._coming:
                if place.exists():
                    return
                self._begin(sha256)
            try:
                stored_bytes = self._add(sha256, offset, data)
            except OSError:
                self._forget(sha256)
                raise
            if stored_bytes == size_bytes:
                self._file(sha256, place)

    def link(self, file: HostFile, folder: Path) -> None:
        """Have the file in `folder` under its name; CarrierError if it is not here any more."""
        source, target = self._place(file.sha256), folder / plain(file.name)
        try:
            with contextlib.suppress(FileExistsError):
                os.link(source, target)
        except FileNotFoundError:
            raise CarrierError(
                f"the file {file.name} is not in the store of the host any more",
                "set GRAPHLAP_CACHE_LIMIT there to more",
            ) from None
        except OSError:  # a file system without links
            with disk_there(self._root):
                shutil.copyfile(source, target)

    def close(self) -> None:
        """Forget what has come in part."""
        for sha256 in tuple(self._coming):
            self._forget(sha256)

    def _has(self, sha256: str) -> bool:
        """Whether it is here as it came; what was damaged since is removed, and brought again.

        It is read once by each agent, and again where anything of it has changed.
        """
        place = self._place(sha256)
        try:
            if _file_state(place) != self._sound.get(sha256) and file_sha256(place) != sha256:
                place.unlink()
                return False
            os.utime(place)
            self._sound[sha256] = _file_state(place)
        except FileNotFoundError:
            return False
        return True

    def _begin(self, sha256: str) -> None:
        """What nobody goes on to bring is forgotten then, and what somebody else has removed."""
        long_ago = time.time() - _FORGOTTEN_S
        for other, part in tuple(self._coming.items()):
            if not part.exists() or part.stat().st_mtime < long_ago:
                self._forget(other)
        if len(self._coming) >= MOST_COMING:
            raise CarrierError(f"{MOST_COMING} files are half here already", "bring those first")
        descriptor, name = tempfile.mkstemp(dir=self._aside)
        os.close(descriptor)
        self._coming[sha256] = Path(name)

    def _add(self, sha256: str, offset: int, data: bytes) -> int:
        """How many bytes of the file are here now, with what of the block was not."""
        part = self._coming[sha256]
        stored_bytes = part.stat().st_size
        if offset > stored_bytes:
            raise CarrierError(f"a block of the file {sha256:.12} was lost", "start again")
        fresh = data[stored_bytes - offset :]
        self._make_room(len(fresh))
        with part.open("ab") as file:
            file.write(fresh)
        return stored_bytes + len(fresh)

    def _file(self, sha256: str, place: Path) -> None:
        part = self._coming.pop(sha256)
        if file_sha256(part) != sha256:
            part.unlink()
            raise CarrierError(
                f"the file {sha256:.12} has another content than it should",
                "it changed while it was sent: start again",
            )
        part.replace(place)

    def _forget(self, sha256: str) -> None:
        self._coming.pop(sha256).unlink(missing_ok=True)

    def _make_room(self, size_bytes: int) -> None:
        """Remove what was used longest ago until so much more fits: what has come counts, not what
        somebody says that will come. CarrierError where files that came in part fill the store."""
        coming = sum(part.stat().st_size for part in self._coming.values() if part.exists())
        if coming + size_bytes > self._limit_bytes:
            raise CarrierError(
                "files that are half here fill the store there",
                "set GRAPHLAP_CACHE_LIMIT there to more",
            )
        stored_files = []
        for path in self._files.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another agent was faster
                status = path.stat()
                stored_files.append((status.st_mtime_ns, status.st_size, path))
        total = coming + sum(size for _, size, _ in stored_files)
        for _, size, path in sorted(stored_files):
            if total + size_bytes <= self._limit_bytes:
                return
            path.unlink(missing_ok=True)
            total -= size

    def _place(self, sha256: str) -> Path:
        if not _SHA256.fullmatch(sha256):
            raise CarrierError(
                f"{sha256!r:.80} is no sha256", "use the same Graphlap on both sides"
            )
        return self._files / sha256


def plain(name: str) -> str:
    """The name, if it names a file in a folder and nothing above it; CarrierError otherwise."""
    if not name or Path(name).name != name or name in (".", "..") or "\0" in name:
        raise CarrierError(f"{name!r:.80} is no file's name", "use the same Graphlap on both sides")
    return name


def _file_state(place: Path) -> tuple[int, ...]:
    status = place.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


@contextlib.contextmanager
def disk_there(root: Path) -> Iterator[None]:
    """Whatever the disk of a host refuses is a CarrierError that says where."""
    try:
        yield
    except OSError as error:
        raise CarrierError(
            f"{root} can't be written there ({error.strerror})",
            f"{disk_remedy(str(error))} there, or set GRAPHLAP_CACHE there to another folder",
        ) from error
