"""NVIDIA's word in the environment that keeps its libraries from TF32, and when it was read.

They read it once, as they are loaded: what is said later may be too late, and nobody can ask them.
"""

from __future__ import annotations

import os

VARIABLE = "NVIDIA_TF32_OVERRIDE"
_when_loaded: list[str | None] = []


def environment(allowed: bool) -> dict[str, str | None]:
    """What a process's environment must say; the only value that means anything forbids."""
    return {VARIABLE: None if allowed else "0"}


def loading() -> None:
    """A library is about to be opened: what the environment says now is what it reads."""
    if not _when_loaded:
        _when_loaded.append(os.environ.get(VARIABLE))


def surely_forbidden() -> bool:
    """Whether every library that this process has opened was told so before."""
    told = _when_loaded or [os.environ.get(VARIABLE)]
    return told[0] == "0"
