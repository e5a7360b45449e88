"""A foreign file as its readers see it: its text, and its values where it is JSON."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.cases.errors import ResultsError
from app.results.manifest import MANIFEST
from exporters.regular import read_file

MOST_BYTES = 256 << 20
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
        ours = (path / MANIFEST).is_file()
        raise ResultsError(
            f"{path} is {'a run folder of Graphlap' if ours else 'a folder'}, and no file",
            "give it to graphlap report or compare as it is" if ours else "name the files in it",
        )
    try:
        raw = read_file(path, most_bytes=MOST_BYTES)
    except OSError as error:
        raise ResultsError(
            f"{path} can't be read ({error.strerror})", "name the file that the program wrote"
        ) from None
    sha256 = hashlib.sha256(raw).hexdigest()
    if not raw.strip():
        return Content(path, sha256, "", fault="it is empty")
    try:
        text = _decoded(_unpacked(raw) if raw.startswith(_GZIP) else raw)
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


def _unpacked(raw: bytes) -> bytes:
    """ResultsError for more than a file may hold: a little of gzip's may stand for all memory."""
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ResultsError(
            f"the unpacked file is larger than {MOST_BYTES >> 20} MiB", "import a part of it"
        )
    return content


def _decoded(raw: bytes) -> str:
    """UTF-8, in which bytes of an older encoding, as a path may have them, stand for themselves; or
    UTF-16 where it says so, as PowerShell writes what a program prints."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw.decode("utf-16")
    return raw.decode("utf-8-sig", "surrogateescape")
