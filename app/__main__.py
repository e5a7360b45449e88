"""`graphlap` and `python -m app`: the command line, which `app.commands` has."""

from __future__ import annotations

import gc
import sys

gc.set_threshold(50_000)
"""New objects between two searches for reference cycles. Importing our modules makes many without
a cycle, a run of thousands of cases millions: Python's usual 700 costs a tenth and a sixth."""

from app.commands.main import main  # noqa: E402 - after the threshold, since it imports most

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
