"""Run folders stored as bytes, one for each thing that a run can be asked for.

They do not change with the code that once wrote them: what Graphlap shows of one depends on how it
reads. `python -m tests.golden --store FOLDER` stores another one under its folder's name, and
`--without KEY` takes the key of a setting that is gone out of their plans.
"""

from __future__ import annotations

import io
import json
import lzma
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.app.run_folder.resealed import reseal_manifest

FOLDERS = Path(__file__).with_name("folders")
_SUFFIX = ".tar.xz"
NAMES = tuple(sorted(path.name.removesuffix(_SUFFIX) for path in FOLDERS.glob(f"*{_SUFFIX}")))
_LATEST = {"compared": "after", "history": "night-13"}
"""Of several runs in one folder, the one that the others came before."""


def unpack(name: str, folder: Path) -> Path:
    """The stored run in a new folder; of several, the path of the latest."""
    with tarfile.open(_archive(name)) as archive:
        archive.extractall(folder, filter="data")
    return folder / _LATEST.get(name, "")


def store(folder: Path) -> None:
    """Keep a folder."""
    _archive(folder.name).write_bytes(lzma.compress(packed(folder), preset=9))


def drop_setting(key: str) -> None:
    """Take a key out of the plan of every stored run."""
    for name in NAMES:
        with TemporaryDirectory() as made:
            folder = Path(made, name)
            unpack(name, folder)
            for manifest in folder.rglob("manifest.json"):
                values = json.loads(manifest.read_text("utf-8"))
                values["plan"].pop(key, None)
                manifest.write_text(json.dumps(values), "utf-8")
                reseal_manifest(manifest)
            store(folder)


def packed(folder: Path) -> bytes:
    """The files of a folder in one archive, without owners and times: equal of equal folders."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            member.mode = 0o755 if path.is_dir() else 0o644
            member.type = tarfile.DIRTYPE if path.is_dir() else tarfile.REGTYPE
            data = b"" if path.is_dir() else path.read_bytes()
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return content.getvalue()


def _archive(name: str) -> Path:
    return FOLDERS / f"{name}{_SUFFIX}"
