"""Start of a kit on a machine without a network: checks and unpacks its parts, then runs Python.

    python3 start.py                                  # unpack the parts that lie beside this file
    python3 start.py -m tests.gpu --minutes 9 --out DIR

Parts may arrive one after another: each call takes those that lie beside this file, in any folder
beside it, or were taken before. The environment is a venv whose packages come first and
whose last are those of the Python that runs this file, for this process and its children alike.
It is made in KIT_FOLDER, else in the folder for temporary files.

Exit code: that of the command; 1 for a damaged part or another Python, 3 while parts are missing.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import platform
import shutil
import site
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
MANIFEST = "manifest.json"
REFUSAL_CODE, PARTS_MISSING = 1, 3
BLOCK_BYTES = 2**20


class Refusal(Exception):
    """Why the kit can't start, in one sentence with an action."""


class MissingParts(Refusal):
    """Parts that have not arrived yet."""


def main(arguments: Sequence[str]) -> int:
    manifest = json.loads((FOLDER / MANIFEST).read_text("utf-8"))
    default = Path(tempfile.gettempdir()) / f"graphlap-kit-{manifest['id']}"
    folder = Path(os.environ.get("KIT_FOLDER") or default).resolve()
    try:
        check_interpreter(manifest["python"], manifest["machine"])
        folder.mkdir(parents=True, exist_ok=True)
        archives = manifest["archives"]
        missing = {archive["name"]: take_parts(archive, folder) for archive in archives}
        base, *extras = archives
        if missing[base["name"]]:
            raise MissingParts(missing_text(base["name"], missing[base["name"]]))
        for archive in archives:
            if not missing[archive["name"]]:
                unpack(archive, folder)
        python = environment(folder, archives)
    except Refusal as reason:
        print(f"start.py: {reason}", file=sys.stderr)
        return PARTS_MISSING if isinstance(reason, MissingParts) else REFUSAL_CODE
    for archive in extras:
        if missing[archive["name"]]:
            print(f"start.py: {missing_text(archive['name'], missing[archive['name']])}")
    code = run(python, "-m", manifest["check"], str(folder))
    return run(python, *arguments) if arguments and not code else code


def run(python: str, *arguments: str) -> int:
    """The exit code of a Python that imports nothing from the current folder or PYTHONPATH."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([python, "-P", *arguments], env=variables, check=False).returncode


def check_interpreter(release: str, machine: str) -> None:
    own_release = ".".join(map(str, sys.version_info[:2]))
    if own_release != release:
        raise Refusal(
            f"the kit is for Python {release} (got {own_release}). "
            f"Build it with --python {own_release}."
        )
    if platform.machine() != machine:
        raise Refusal(f"the kit is for {machine} (got {platform.machine()}). Use such a machine.")


def take_parts(archive: Mapping[str, Any], folder: Path) -> list[str]:
    """Copy the parts that lie beside this file, each checked; the names of those still missing."""
    missing = []
    places = (FOLDER, *sorted(path for path in FOLDER.parent.iterdir() if path.is_dir()))
    for part in archive["parts"]:
        target = folder / part["name"]
        if (folder / archive["name"]).is_dir() or target.exists():
            continue
        copies = [path for place in places if (path := place / part["name"]).is_file()]
        whole = next((path for path in copies if digest([path]) == part["sha256"]), None)
        if whole is not None:
            partial = target.with_name(f"{target.name}.partial")
            shutil.copyfile(whole, partial)
            partial.replace(target)
        elif copies:
            raise Refusal(f"{copies[0]}: damaged, its checksum differs. Copy this part again.")
        else:
            missing.append(part["name"])
    return missing


def missing_text(name: str, parts: Iterable[str]) -> str:
    return f"{name}: waiting for {', '.join(parts)}. Copy them beside start.py and call it again."


def digest(paths: Iterable[Path]) -> str:
    checksum = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                checksum.update(block)
    return checksum.hexdigest()


class PartsReader(io.RawIOBase):
    """The parts of an archive read as one file."""

    def __init__(self, paths: Iterable[Path]) -> None:
        super().__init__()
        self._files = [path.open("rb") for path in paths]
        self._index = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while self._index < len(self._files):
            count = self._files[self._index].readinto(buffer)
            if count:
                return count
            self._index += 1
        return 0

    def close(self) -> None:
        for file in self._files:
            file.close()
        super().close()


def unpack(archive: Mapping[str, Any], folder: Path) -> None:
    """Put an archive into a folder of its name, whole or not at all."""
    target, partial = folder / archive["name"], folder / f"{archive['name']}.partial"
    if target.is_dir():
        return
    shutil.rmtree(partial, ignore_errors=True)
    parts = [folder / part["name"] for part in archive["parts"]]
    stream_of_parts = io.BufferedReader(PartsReader(parts), BLOCK_BYTES)
    try:
        with lzma.open(stream_of_parts) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
            tar.extractall(partial, filter="data")
    except (lzma.LZMAError, tarfile.TarError, EOFError, OSError) as error:
        step = f"Free space in {folder}, or copy the parts again."
        raise Refusal(f"{archive['name']}: not unpacked ({error}). {step}") from None
    finally:
        stream_of_parts.close()
    partial.rename(target)
    for part in parts:
        part.unlink()


def environment(folder: Path, archives: Iterable[Mapping[str, Any]]) -> str:
    """The interpreter of a venv with the kit's packages first and this Python's last."""
    home = folder / "environment"
    python = home / "bin" / "python"
    if not python.exists():
        venv.EnvBuilder(symlinks=True).create(home)
    packages = home / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    roots = [folder / archive["name"] / kind for archive in archives for kind in ("source", "site")]
    lines = [str(root) for root in roots if root.is_dir()]
    # Packages of this Python come last, with the path files of its own.
    lines += [f"import site; site.addsitedir({place!r})" for place in site.getsitepackages()]
    (packages / "kit.pth").write_text("\n".join(lines) + "\n", "utf-8")
    return str(python)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
