"""Edited run folders whose checksums are right: what a damaged or hostile writer may have made."""

from __future__ import annotations

import json
import re
from pathlib import Path

from app.run_folder.files import DOCUMENT, LINE, text_digest

_SEAL = re.compile(rb',\s*"crc32": ?"[0-9a-f]{8}"(?=\s*})')

_DIGEST = re.compile(rb'"manifest": ?"[0-9a-f]+"')


def reseal_journal(path: Path) -> None:
    """Give each line that is a JSON object the checksum of what it holds now."""
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join(_seal(line) for line in lines))


def reseal_manifest(path: Path) -> None:
    """The same of a manifest, however it is laid out, and its digest in the journals."""
    values = json.loads(path.read_bytes())
    values.pop("crc32", None)
    path.write_bytes(DOCUMENT.sealed(json.dumps(values, indent=1).encode() + b"\n"))
    digest = text_digest(path.read_bytes()).encode()
    for journal in (path.parent / "journal").glob("*"):
        journal.write_bytes(_DIGEST.sub(rb'"manifest": "' + digest + b'"', journal.read_bytes()))
        reseal_journal(journal)


def _seal(line: bytes) -> bytes:
    bare = _SEAL.sub(b"", line)
    return LINE.sealed(bare) if bare.startswith(b"{") and bare.endswith(b"}") else line
