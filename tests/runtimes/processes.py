"""A script in a Python process of its own."""

from __future__ import annotations

import os

from tests.checkout import ROOT
from tests.processes import python


def printed(script: str, *arguments: str, **environment: str) -> str:
    """What the script prints; it runs in the checkout."""
    process = python("-c", script, *arguments, check=True, cwd=ROOT, env=os.environ | environment)
    return process.stdout
