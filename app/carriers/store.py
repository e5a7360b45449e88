"""The files that jobs have brought to a host, each once and by its content, within a bound.

Any number of agents may share one folder: a file is moved into place whole, and a job has links of
its own, so that what is removed here is taken from nobody.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from app.carriers.contract import CarrierError, HostFile
from app.cases.disk import disk_remedy
from exporters.digest import file_sha256
from exporters.private import private_folder

_SHA256 = re.compile(r"[0-9a-f]{64}")


class FileStore:
    """`root` is made where it is not there; it holds `limit_bytes` at most."""

    def __init__(self, root: Path, limit_bytes: int) -> None:
        self._root, self._limit_bytes = root, limit_bytes
        self._files, self._aside = root / "files", root / "aside"
        self._coming: dict[str, Path] = {}
        with _disk(root):
            private_folder(root)
            for folder in (self._files, self._aside):
                folder.mkdir(exist_ok=True)

    def lacks(self, files: Iterable[HostFile]) -> tuple[str, ...]:
        """The sha256 of those that are not here; the others count as used now."""
        missing = []
        for file in files:
            try:
                os.utime(self._place(file.sha256))
            except FileNotFoundError:
                missing.append(file.sha256)
        return tuple(dict.fromkeys(missing))

    def keep(self, sha256: str, offset: int, data: bytes, size_bytes: int) -> None:
        """Take the next block of a file, and file it once all `size_bytes` are here.

        CarrierError for a block out of order, a content of another sum, a file that is larger than
        the store may be, and a disk that is full.
        """
        place = self._place(sha256)
        if not 0 <= offset <= offset + len(data) <= size_bytes:
            raise CarrierError(f"a block of the file {sha256:.12} lies outside it", "start again")
        if size_bytes > self._limit_bytes:
            raise CarrierError(
                f"a file of {size_bytes / 2**20:,.0f} MiB is needed there, and the store of files "
                f"may hold {self._limit_bytes / 2**20:,.0f} MiB",
                "set GRAPHLAP_CACHE_LIMIT there to more",
            )
        with _disk(self._root):
            if not offset:
                self._begin(sha256, size_bytes)
            coming = self._coming.get(sha256)
            if coming is None or coming.stat().st_size != offset:
                raise CarrierError(f"a block of the file {sha256:.12} was lost", "start again")
            with coming.open("ab") as file:
                file.write(data)
            if offset + len(data) == size_bytes:
                del self._coming[sha256]
                if file_sha256(coming) != sha256:
                    coming.unlink()
                    raise CarrierError(
                        f"the file {sha256:.12} has another content than it should",
                        "it changed while it was sent: start again",
                    )
                coming.replace(place)

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
            with _disk(self._root):
                shutil.copyfile(source, target)

    def close(self) -> None:
        """Forget what has come in part."""
        for path in self._coming.values():
            path.unlink(missing_ok=True)
        self._coming.clear()

    def _begin(self, sha256: str, size_bytes: int) -> None:
        self._make_room(size_bytes)
        descriptor, name = tempfile.mkstemp(dir=self._aside)
        os.close(descriptor)
        stale, self._coming[sha256] = self._coming.get(sha256), Path(name)
        if stale is not None:
            stale.unlink(missing_ok=True)

    def _make_room(self, size_bytes: int) -> None:
        """Remove what was used longest ago until a file of this size fits."""
        there = []
        for path in self._files.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another agent was faster
                status = path.stat()
                there.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _, size, _ in there)
        for _, size, path in sorted(there):
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


@contextlib.contextmanager
def _disk(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CarrierError(
            f"{root} can't be written there ({error.strerror})",
            f"{disk_remedy(str(error))} there, or set GRAPHLAP_CACHE there to another folder",
        ) from error
