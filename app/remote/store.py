"""Files of shares on a host, kept by their content within a bound, and the folders of shares."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from app.cases.errors import disk_remedy
from app.remote.link import HostError
from exporters.file_access import file_sha256, private_folder

_SHA256 = re.compile(r"[0-9a-f]{64}")
_LOCK = "lock"


@contextlib.contextmanager
def disk_there(root: Path) -> Iterator[None]:
    """Whatever the disk of a host refuses is a HostError that says where."""
    try:
        yield
    except OSError as error:
        raise HostError(
            f"{root} can't be written there ({error.strerror})",
            f"{disk_remedy(str(error))} there, or set GRAPHLAP_CACHE there to another folder",
        ) from error


class FileStore:
    """`root` is a folder that is there; its files take `limit_bytes` at most. HostError where it
    can't be written."""

    def __init__(self, root: Path, limit_bytes: int) -> None:
        self._files, self._limit_bytes = root / "files", limit_bytes
        with disk_there(root):
            self._files.mkdir(exist_ok=True)

    def has(self, digest: str) -> bool:
        """Whether a file is here as it came; what was damaged since is removed."""
        place = self._place(digest)
        with disk_there(self._files):
            if place.is_file() and file_sha256(place) == digest:
                os.utime(place)
                return True
            place.unlink(missing_ok=True)
            return False

    def take(self, digest: str, part: Path) -> None:
        """File what has come whole; HostError for another content, and for more than may be."""
        place, size = self._place(digest), part.stat().st_size
        if file_sha256(part) != digest:
            raise HostError(
                f"the file {digest:.12} has another content than it should",
                "it changed while it was sent: resume the run",
            )
        with disk_there(self._files):
            self._make_room(size)
            part.replace(place)

    def refuse_large(self, size: int) -> None:
        """HostError for a file that can't be held."""
        if size > self._limit_bytes:
            raise HostError(
                f"a file of {size / 2**20:,.0f} MiB is needed there, and the store of files may "
                f"hold {self._limit_bytes / 2**20:,.0f} MiB",
                "set GRAPHLAP_CACHE_LIMIT there to more",
            )

    def link(self, digest: str, target: Path) -> None:
        """Have the file at `target`."""
        with disk_there(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(self._place(digest), target)
            except FileNotFoundError:
                raise HostError(
                    f"the file {target.name} is not in the store of the host any more",
                    "set GRAPHLAP_CACHE_LIMIT there to more",
                ) from None
            except OSError:  # a file system without links
                shutil.copyfile(self._place(digest), target)

    def _make_room(self, size: int) -> None:
        """Remove what was used longest ago until so much more fits."""
        stored = []
        for path in self._files.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                status = path.stat()
                stored.append((status.st_mtime_ns, status.st_size, path))
        total = sum(stored_size for _, stored_size, _ in stored)
        for _, stored_size, path in sorted(stored):
            if total + size <= self._limit_bytes:
                return
            path.unlink(missing_ok=True)
            total -= stored_size

    def _place(self, digest: str) -> Path:
        if not _SHA256.fullmatch(digest):
            raise HostError(f"{digest!r:.80} is no sha256", "use the same Graphlap on both sides")
        return self._files / digest


@contextlib.contextmanager
def own_folder(root: Path) -> Iterator[Path]:
    """A new folder in `root`, removed at the end, with those whose process was killed."""
    with disk_there(root):
        private_folder(root)
        for other in root.iterdir():
            if _is_abandoned(other):
                shutil.rmtree(other, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(dir=root))
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        with contextlib.suppress(OSError):  # a file system without locks: nobody removes it then
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _is_abandoned(folder: Path) -> bool:
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR)
    except OSError:  # it is being made or removed at this moment
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def plain(name: object) -> PurePosixPath:
    """A name of a file in the folder of a share; HostError for one that leads out of it."""
    path = PurePosixPath(str(name))
    if not isinstance(name, str) or path.is_absolute() or ".." in path.parts or "\0" in name:
        raise HostError(f"{name!r:.80} is no file's name", "use the same Graphlap on both sides")
    return path
