"""A script in a Python process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.checkout import ROOT


def printed(script: str, *arguments: str, **environment: str) -> str:
    """What the script prints; it runs in the checkout."""
    process = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return process.stdout
