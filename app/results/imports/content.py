"""A foreign file as its readers see it: its text, and its values where it is JSON."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.cases.errors import ResultsError

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
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ResultsError(
            f"{path} can't be read ({error.strerror})", "name the file that the program wrote"
        ) from None
    sha256 = hashlib.sha256(raw).hexdigest()
    try:
        text = (gzip.decompress(raw) if raw.startswith(_GZIP) else raw).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        return Content(path, sha256, "", fault=f"its compression is broken: {error}")
    except UnicodeDecodeError:
        return Content(path, sha256, "")
    if not text.lstrip().startswith(("{", "[")):
        return Content(path, sha256, text)
    try:
        return Content(path, sha256, text, json.loads(text))
    except (ValueError, RecursionError) as error:
        return Content(path, sha256, text, fault=f"it is no JSON: {error}")
