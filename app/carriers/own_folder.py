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
_NEW = "."
"""How a folder's name begins until it is locked."""
_NEVER_LOCKED_S = 86400.0
"""One that is still called so is of an agent that was killed; clocks of hosts may differ."""


class OwnFolder:
    """Made in `among`, where those that were abandoned are removed; OSError."""

    def __init__(self, among: Path) -> None:
        among.mkdir(exist_ok=True)
        for other in among.iterdir():
            if _is_abandoned(other):
                shutil.rmtree(other, ignore_errors=True)
        new = Path(tempfile.mkdtemp(prefix=_NEW, dir=among))
        self._lock: int | None = os.open(new / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        with contextlib.suppress(OSError):  # a file system without locks: nobody removes it then
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.path = new.rename(among / new.name.removeprefix(_NEW))

    def close(self) -> None:
        """Remove it with all that is in it; idempotent."""
        if self._lock is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = None


def _is_abandoned(folder: Path) -> bool:
    try:
        if folder.name.startswith(_NEW):
            return time.time() - folder.stat().st_mtime > _NEVER_LOCKED_S
        lock = os.open(folder / _LOCK, os.O_RDWR)
    except OSError:  # it was removed at this moment
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
