"""Damaged files by the hundred through the batch mode, a folder of them at a time.

SOAK_MUTANTS (700) files drawn from SOAK_SEED (1) are measured on SOAK_RUNTIMES (ort-cpu). What
fails is an error of the parent, or a file without a row and its reason.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from tests.app.headless.mutant_runs import measured
from tests.mutants import mutants

AT_ONCE = 50


def main(seed: int, minutes: float) -> None:
    """Ends before the next folder once its `minutes` are over."""
    count = int(os.environ.get("SOAK_MUTANTS") or 700)
    runtimes = os.environ.get("SOAK_RUNTIMES") or "ort-cpu"
    start_s, counts = time.monotonic(), Counter[str]()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["GRAPHLAP_CACHE"] = f"{scratch}/cache"
        for number, first in enumerate(range(0, count, AT_ONCE)):
            if time.monotonic() - start_s > minutes * 60:
                count = first
                break
            folder = Path(scratch) / f"nets{number}"
            folder.mkdir()
            paths = mutants(folder, min(AT_ONCE, count - first), seed + number)
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                counts += measured(paths, Path(scratch) / f"run{number}", runtimes)
            sys.stdout.write(f"mutants of seed {seed + number}: {told(counts)}\n")
            sys.stdout.flush()
    taken_min = (time.monotonic() - start_s) / 60
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(
        f"{count} mutants, {counts.total()} rows in {taken_min:.1f} min: {told(counts)}; "
        f"the parent held {peak_mib:.0f} MiB\n"
    )


def told(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {status}" for status, number in counts.most_common())
