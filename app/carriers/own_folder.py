"""An agent's own folder among those of others, which goes with it or with who finds it abandoned.

Agents that share a cache may be on several machines, or in containers that can't see each other's
processes; so a lock tells whether one lives, which its system gives back however it ended.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

_LOCK = "lock"
_NEW_S = 60.0
"""So young a folder may be one whose agent is about to lock it."""


class OwnFolder:
    """Made in `among`, where those that were abandoned are removed; OSError."""

    def __init__(self, among: Path) -> None:
        among.mkdir(exist_ok=True)
        for other in among.iterdir():
            if _is_abandoned(other):
                shutil.rmtree(other, ignore_errors=True)
        self.path = Path(tempfile.mkdtemp(dir=among))
        self._lock: int | None = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        with contextlib.suppress(OSError):  # a file system without locks: nobody removes it then
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        """Remove it with all that is in it; idempotent."""
        if self._lock is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = None


def _is_abandoned(folder: Path) -> bool:
    try:
        if abs(time.time() - folder.stat().st_mtime) < _NEW_S:
            return False
        lock = os.open(folder / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        return folder.exists()  # it was removed at this moment, or its agent was killed before
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
