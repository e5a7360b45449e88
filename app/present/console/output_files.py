"""Files that a command writes where the user asks: refused beforehand where something else is
there, and replaced whole."""

from __future__ import annotations

import argparse
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.cases.errors import PlanError, unwritable
from app.run_folder.files import LOCK, write_atomically
from app.run_folder.manifest import MANIFEST

_BEGINNING_BYTES = 512


@dataclass(frozen=True, slots=True)
class Format:
    """What an option writes: `name` in messages, `beginning` how each file of it begins."""

    name: str
    beginning: re.Pattern[bytes]


JSON = Format(
    "result of a comparison as JSON",
    re.compile(rb'\s*\{\s*"format": "graphlap-(comparison|aa|history)"'),
)
CSV = Format("history as CSV", re.compile(rb"run_id,path,created_at_utc,case_id,"))
JUNIT = Format("JUnit file of Graphlap", re.compile(rb'<\?xml [^>]*>\s*<testsuite name="graphlap '))
SVG = Format(
    "SVG file of Graphlap", re.compile(rb'<svg xmlns="http://www\.w3\.org/2000/svg" width=')
)
PAGE = Format("report", re.compile(rb"<!doctype html>", re.IGNORECASE))
_FORMATS: Mapping[str, Format] = {"json": JSON, "csv": CSV, "junit": JUNIT, "plot": SVG}


def reject_outputs(flags: argparse.Namespace) -> None:
    """PlanError where an option names a file of another format, a folder or another's file."""
    outputs = {f"--{name}": (getattr(flags, name, None), kind) for name, kind in _FORMATS.items()}
    first_options: dict[Path, str] = {}
    for option, (text, file_format) in outputs.items():
        if text is None:
            continue
        path = Path(text)
        reject_output(option, path, file_format)
        if not path.parent.is_dir():
            raise PlanError(
                f"{option} {path}: its folder is not there", "make it, or name another file"
            )
        first = first_options.setdefault(path.resolve(), option)
        if first != option and not _is_stream(path):
            raise PlanError(f"{option} and {first} name one file ({path})", "give each its own")


def reject_output(option: str, path: Path, file_format: Format) -> None:
    """PlanError unless `path` is free, empty, a stream or a file that the option may replace."""
    name_another = "name another file"
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        raise PlanError(f"{option} {path!s:.80} can't be read ({error})", name_another) from None
    if not stat.S_ISREG(mode):
        if _is_stream(path) and not stat.S_ISBLK(mode):
            return
        kind = "a folder" if stat.S_ISDIR(mode) else "no file"
        raise PlanError(f"{option} {path} is {kind}", name_another)
    try:
        with path.open("rb") as file:
            beginning = file.read(_BEGINNING_BYTES)
    except OSError as error:
        raise PlanError(f"{option} {path} can't be read ({error.strerror})", name_another) from None
    is_lock = path.name == LOCK and path.with_name(MANIFEST).exists()
    if is_lock or (beginning and not file_format.beginning.match(beginning)):
        raise PlanError(f"{option} {path}: the file there is no {file_format.name}", name_another)


def write_output(path: Path, content: bytes) -> None:
    """Replace the file whole, or write to the stream; DiskError."""
    try:
        if _is_stream(path):
            with path.open("wb") as stream:
                stream.write(content)
        else:
            write_atomically(path, content)
    except OSError as error:
        raise unwritable(path, error, ", or name another file") from error


def _is_stream(path: Path) -> bool:
    """Whether it is a pipe, a terminal or a descriptor, such as /dev/stdout, which nothing can
    replace."""
    folder = path.parent.resolve()
    is_descriptor = any(folder.is_relative_to(root) for root in ("/dev/fd", "/proc"))
    return is_descriptor or folder == Path("/dev") or path.is_fifo() or path.is_char_device()
