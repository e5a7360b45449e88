"""`graphlap` and `python -m app`: the command line, which `app.commands` has."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

_COLLECTED_AFTER = 50_000
"""New objects between two searches for reference cycles. Importing our modules makes many without
a cycle, a run of thousands of cases millions: Python's usual 700 costs a tenth and a sixth."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    gc.set_threshold(_COLLECTED_AFTER)
    from app.commands.main import main as run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
