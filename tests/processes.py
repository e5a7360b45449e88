"""Programs in processes of their own, and what they print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

Ended = subprocess.CompletedProcess[str]


def ended(*command: str | Path, check: bool = False, **settings: Any) -> Ended:
    """A command that has ended, with its output; `check` raises if its exit code is not 0."""
    return subprocess.run(command, capture_output=True, text=True, check=check, **settings)


def python(*arguments: str | Path, check: bool = False, **settings: Any) -> Ended:
    """This interpreter with other arguments, once it has ended."""
    return ended(sys.executable, *arguments, check=check, **settings)
