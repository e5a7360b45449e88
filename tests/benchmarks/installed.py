"""A child's environment as where the program is installed: its modules are compiled once, and kept.

A checkout may be told to keep none (PYTHONDONTWRITEBYTECODE), and a start takes half as long again.
"""

from __future__ import annotations

import os
from pathlib import Path


def installed(build_path: Path) -> dict[str, str]:
    """With compiled modules in that folder, which the first child fills."""
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    return {**environment, "PYTHONPYCACHEPREFIX": str(build_path)}
