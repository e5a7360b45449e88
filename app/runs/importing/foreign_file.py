"""A result file of another program: its text and values, and the cases found in it."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from app.cases.errors import ResultsError
from app.run_folder.manifest import MANIFEST
from exporters.diagnostics import Diagnostic
from exporters.file_access import read_file

_MAXIMUM = 1e18
"""Of what a program measures nothing comes to so much, in whichever unit."""
_MAXIMUM_NS = 2.0**62
"""So that an end, a beginning and a duration, is one that int64 holds."""


class Damaged(ValueError):
    """A file of a known format that can't be what its program wrote: what is wrong, in words."""


class NoTimings(ValueError):
    """A sound file in which nothing was timed: why, in words."""


@dataclass(frozen=True, slots=True)
class Timings:
    """The runs of one process in their order, int64 nanoseconds [n] each."""

    started_ns: np.ndarray
    finished_ns: np.ndarray


@dataclass(frozen=True, slots=True)
class ForeignCase:
    """One case, with its `rounds` where the file has single timings, a process each.

    `model` is empty where the file names none. `figures` are what the program states or would
    print of these runs, by the names of columns. `calls` is how many calls a timing is the mean of.
    """

    model: str
    clock: str
    boundary: str
    version: str = ""
    figures: Mapping[str, float | int | str] = field(default_factory=dict)
    rounds: tuple[Timings, ...] = ()
    axes: Mapping[str, int] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    calls: int = 1
    warnings: tuple[Diagnostic, ...] = ()


def consecutive_timings(seconds: Sequence[float]) -> Timings:
    """Durations one after another, since the file does not tell when each began."""
    durations_s = np.array([duration(value) for value in seconds])
    in_ns(durations_s.sum(keepdims=True) * 1e9)
    durations_ns = in_ns(durations_s * 1e9)
    finished_ns = np.cumsum(durations_ns)
    return Timings(finished_ns - durations_ns, finished_ns)


def in_ns(times_ns: np.ndarray) -> np.ndarray:
    """Times as whole nanoseconds; Damaged where one is more than a clock counts."""
    longest_ns = float(times_ns.max(initial=0.0))
    if longest_ns >= _MAXIMUM_NS:
        raise Damaged(f"it goes on for {longest_ns / 1e9:.3g} s")
    rounded_ns: np.ndarray = np.rint(times_ns).astype(np.int64)
    return rounded_ns


def duration(value: object) -> float:
    """A time that something can have taken; Damaged for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Damaged(f"a time is {value!r:.40}")
    if not 0 <= value < _MAXIMUM:
        raise Damaged(f"a time is {value!s:.40}")
    return float(value)


def parse_number(text: object, name: str) -> float:
    """The same of a number that may stand as text."""
    try:
        return duration(float(text) if isinstance(text, str) else text)
    except ValueError:
        raise Damaged(f"{name} is {text!r:.40}") from None


def objects(value: Any, name: str) -> list[dict[str, Any]]:
    """A list of objects; Damaged for anything else."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Damaged(f"{name} is no list of objects")
    return value


MAXIMUM_BYTES = 256 << 20
"""Of a file, and of what it is unpacked to: its values take up to twenty times as much memory."""
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Content:
    """`data` is what the text means as JSON, None where it is none; `fault` says why, of a text
    that begins as JSON does."""

    path: Path
    sha256: str
    text: str
    data: Any = None
    fault: str = ""


def read_content(path: Path) -> Content:
    """The file, unpacked where it is gzip's; ResultsError if it can't be read."""
    if path.is_dir():
        is_run_folder = (path / MANIFEST).is_file()
        raise ResultsError(
            f"{path} is {'a run folder of Graphlap' if is_run_folder else 'a folder'}, and no file",
            "give it to graphlap report or compare as it is"
            if is_run_folder
            else "name the files in it",
        )
    try:
        raw = read_file(path, most_bytes=MAXIMUM_BYTES)
    except OSError as error:
        raise ResultsError(
            f"{path} can't be read ({error.strerror})", "name the file that the program wrote"
        ) from None
    sha256 = hashlib.sha256(raw).hexdigest()
    if not raw.strip():
        return Content(path, sha256, "", fault="it is empty")
    try:
        text = _decode(_unpack(raw) if raw.startswith(_GZIP) else raw)
    except (OSError, EOFError, zlib.error) as error:
        return Content(path, sha256, "", fault=f"its compression is broken: {error}")
    except UnicodeDecodeError as error:
        return Content(path, sha256, "", fault=f"it is no whole {error.encoding}: {error.reason}")
    if not text.lstrip().startswith(("{", "[")):
        return Content(path, sha256, text)
    try:
        return Content(path, sha256, text, json.loads(text))
    except (ValueError, RecursionError) as error:
        return Content(path, sha256, text, fault=f"it is no JSON: {error}")
    except MemoryError:
        raise ResultsError(
            f"{path} needs more memory than is free", "import a part of it"
        ) from None


def _unpack(raw: bytes) -> bytes:
    """ResultsError for more than a file may hold: a little of gzip's may stand for all memory."""
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
        content = file.read(MAXIMUM_BYTES + 1)
    if len(content) > MAXIMUM_BYTES:
        raise ResultsError(
            f"the unpacked file is larger than {MAXIMUM_BYTES >> 20} MiB", "import a part of it"
        )
    return content


def _decode(raw: bytes) -> str:
    """UTF-8, in which bytes of an older encoding, as a path may have them, stand for themselves; or
    UTF-16 where it says so, as PowerShell writes what a program prints."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw.decode("utf-16")
    return raw.decode("utf-8-sig", "surrogateescape")
