"""Parts of a kit: compressed archives cut to a size, with checksums and a start file."""

from __future__ import annotations

import hashlib
import json
import lzma
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.gpu.kit.contents import MACHINE
from tests.gpu.kit.start import BLOCK_BYTES, MANIFEST, digest

RESERVE_BYTES = 64 * 2**10
"""For the start file and the manifest in each part."""
_START = Path(__file__).with_name("start.py")
_CHECK = "tests.gpu.kit.environment_check"
_PRESET = 2
"""Of xz: a quarter of the time of its default for 5 % more bytes."""


def write_parts(archives: Sequence[Path], out: Path, python: str, part_bytes: int) -> None:
    """Write folders, the base first, as parts for that Python; the folders are removed."""
    archive_entries: list[dict[str, Any]] = [
        {"name": folder.name, "parts": [*_split(_pack(folder), part_bytes, out)]}
        for folder in archives
    ]
    digests = "".join(part["sha256"] for archive in archive_entries for part in archive["parts"])
    manifest = {
        "id": hashlib.sha256(digests.encode()).hexdigest()[:12],
        "python": python,
        "machine": MACHINE,
        "check": _CHECK,
        "archives": archive_entries,
    }
    for folder in sorted(out.iterdir()):
        shutil.copyfile(_START, folder / _START.name)
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", "utf-8")


def _pack(folder: Path) -> Path:
    """The folder as one compressed archive, the same bytes for the same files."""
    target = folder.with_name(f"{folder.name}.xz")

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
        return entry

    with (
        lzma.open(target, "wb", preset=_PRESET) as stream,
        tarfile.open(fileobj=stream, mode="w|") as tar,
    ):
        for path in sorted(folder.iterdir()):
            tar.add(path, path.name, filter=plain)
    shutil.rmtree(folder)
    return target


def _split(path: Path, part_bytes: int, out: Path) -> Iterator[dict[str, Any]]:
    """Cut an archive into the folders of parts: the last one is filled before the next is made."""
    with path.open("rb") as file:
        left_bytes, number = path.stat().st_size, 1
        while left_bytes:
            folder, room_bytes = _part_with_room(out, part_bytes - RESERVE_BYTES)
            piece = folder / f"{path.name}.{number}"
            size = min(left_bytes, room_bytes)
            with piece.open("wb") as target:
                while target.tell() < size:
                    target.write(file.read(min(BLOCK_BYTES, size - target.tell())))
            yield {"name": piece.name, "bytes": size, "sha256": digest([piece])}
            left_bytes, number = left_bytes - size, number + 1
    path.unlink()


def _part_with_room(out: Path, part_bytes: int) -> tuple[Path, int]:
    count = len(list(out.glob("part-*"))) if out.is_dir() else 0
    last = out / f"part-{count}"
    if count:
        used_bytes = sum(path.stat().st_size for path in last.iterdir())
        if used_bytes < part_bytes:
            return last, part_bytes - used_bytes
    folder = out / f"part-{count + 1}"
    folder.mkdir(parents=True)
    return folder, part_bytes
