"""Folders that nobody else may look into: runs hold users' inputs, and the cache their networks."""

from __future__ import annotations

from pathlib import Path

OWNER_ALONE = 0o700


def private_folder(path: Path) -> None:
    """Make it for its owner alone, and what is above it as usual; OSError.

    One that is there stays as it is: whoever made it has decided who may look.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=OWNER_ALONE, exist_ok=True)
