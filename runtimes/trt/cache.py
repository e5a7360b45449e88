"""Built engines and timings on disk: an engine is used again only where all of its key agrees.

A file is one JSON line with the key and the payload's sha256, then the payload. It is named
by what the user chose and by the GPU, so that an engine of another TensorRT is found, seen
to be stale, and replaced.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

State = Literal["hit", "miss", "stale", "damaged"]
Key = Mapping[str, str | int | bool]


@dataclass(frozen=True, slots=True)
class Found:
    """`payload` is there on a hit alone; `reason` says why a file that is there was not used."""

    state: State
    payload: bytes | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the cache: `chosen` names it, `made_by` must agree beside."""

    folder: Path
    kind: str
    chosen: Key
    made_by: Key

    @property
    def path(self) -> Path:
        text = json.dumps(dict(self.chosen), sort_keys=True)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.{self.kind}"

    def find(self) -> Found:
        """What the file holds; an unreadable one counts as damaged."""
        try:
            header, _, payload = self.path.read_bytes().partition(b"\n")
        except (FileNotFoundError, NotADirectoryError):
            return Found("miss")
        except OSError as error:
            return Found("damaged", reason=f"unreadable: {error.strerror}")
        try:
            told = json.loads(header)
            digest, made_by = told["sha256"], told["made_by"]
        except (ValueError, TypeError, KeyError):
            return Found("damaged", reason="damaged")
        for name, value in self.made_by.items():
            if made_by.get(name) != value:
                return Found("stale", reason=f"made by {name} {made_by.get(name)}")
        if hashlib.sha256(payload).hexdigest() != digest:
            return Found("damaged", reason="damaged")
        return Found("hit", payload)

    def keep(self, payload: bytes) -> None:
        """Write the file whole or not at all; OSError if the folder can't be written."""
        header = {
            "chosen": dict(self.chosen),
            "made_by": dict(self.made_by),
            "sha256": hashlib.sha256(payload).hexdigest(),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self.folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(json.dumps(header).encode() + b"\n" + payload)
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
