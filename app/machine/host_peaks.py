"""Peaks of this host, each measured once by a process and kept in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar

from app.machine.placement import usable_cores
from exporters import install_layout
from exporters.codec import from_json, to_json


class Peak(Protocol):
    """`busy`: others computed while it was measured."""

    @property
    def busy(self) -> bool: ...


P = TypeVar("P", bound=Peak)


def kept_peak(
    kind: type[P], path: Path | None, command: Sequence[str], environment: Mapping[str, str]
) -> P | None:
    """A peak of this host, measured once by a process and kept in a file.

    What a busy machine gave is measured again when it is quiet. None where it can't be measured.
    """
    kept, busy = _read_peak(kind, path), os.getloadavg()[0] > len(usable_cores())
    if kept is not None and (busy or not kept.busy):
        return kept
    try:
        process = install_layout.run_child([*command, *["busy"] * busy], "", environment)
        peak = from_json(kind, {**json.loads(process.stdout), "busy": busy})
    except (OSError, ValueError):
        return kept
    if path is not None:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(to_json(peak)), "utf-8")
    return peak


def _read_peak(kind: type[P], path: Path | None) -> P | None:
    try:
        return from_json(kind, json.loads(path.read_bytes())) if path else None
    except (OSError, ValueError):
        return None
