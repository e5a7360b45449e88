"""What a step of an export makes in its folder: files, and what is to be known of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Made:
    """Files by label, and a dataclass of facts; None where the files say all."""

    files: Mapping[str, Path]
    facts: object = None
