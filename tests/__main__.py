"""`make test`: all tests in two parts, one line that counts them, and one for each reason why some
were skipped.

First what measures nothing, on all cores at once; then, one after another, what must have the
machine for itself. Arguments are pytest's: `python -m tests tests/app -k resume`. What takes long
and rarely breaks is left to `make soak`: `python -m tests --rare`. `python -m tests --fast` runs
what starts no process, window or session (`tests/fast.py`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from tests.parallel import on_all_cores

PARTS = (("not alone and not rare", on_all_cores()), ("alone and not rare", ("--only-alone",)))
SELECTIONS: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "--rare": (("rare", on_all_cores()),),
    "--fast": (("not alone and not rare", (*on_all_cores(), "--only-fast")),),
}
"""The parts of the suite that an option of ours names, in place of `PARTS`."""
_WITHOUT_SKIPS = ("-r", "fExX")
"""pytest's own summary has a line for each file and line that skips."""
NOTHING_CHOSEN = 5
"""pytest's exit code where none of the tests is meant."""


def main(arguments: Sequence[str]) -> int:
    start_s = time.monotonic()
    parts = next((SELECTIONS[name] for name in arguments if name in SELECTIONS), PARTS)
    arguments = [argument for argument in arguments if argument not in SELECTIONS]
    # Hundreds of processes import our sources, and each would compile all that it imports.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    # Qt sets the locale of a process, by which Python would read what later children print.
    environment["PYTHONUTF8"] = "1"
    counts: Counter[str] = Counter()
    skip_reasons: Counter[str] = Counter()
    codes = []
    with tempfile.TemporaryDirectory() as folder:
        for part, (markers, how) in enumerate(parts):
            report = Path(folder) / f"{part}.xml"
            command = [sys.executable, "-m", "pytest", "-q", *_WITHOUT_SKIPS, "-m", markers, *how]
            command += [
                "-p",
                "tests.alone",
                "-p",
                "tests.fast",
                f"--junit-xml={report}",
                *arguments,
            ]
            codes.append(subprocess.run(command, env=environment, check=False).returncode)
            counts += counted(report)
            skip_reasons += reasons(report)
    for reason, count in skip_reasons.most_common():
        sys.stdout.write(f"skipped {count}: {reason}\n")
    summary = ", ".join(f"{count} {label}" for label, count in counts.items() if count)
    minutes, seconds = divmod(round(time.monotonic() - start_s), 60)
    sys.stdout.write(f"\nall tests: {summary or 'none'} in {minutes} min {seconds} s\n")
    return max((code for code in codes if code != NOTHING_CHOSEN), default=NOTHING_CHOSEN)


def counted(report: Path) -> Counter[str]:
    """How many tests ended how; none where pytest did not come to its report."""
    counts: Counter[str] = Counter()
    if not report.exists():
        return counts
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        failures, errors, skips, tests = (
            int(suite.attrib[name]) for name in ("failures", "errors", "skipped", "tests")
        )
        counts.update(failed=failures, errors=errors, skipped=skips)
        counts.update(passed=tests - failures - errors - skips)
    return counts


def reasons(report: Path) -> Counter[str]:
    """How many tests were skipped for which reason."""
    if not report.exists():
        return Counter()
    elements = ElementTree.parse(report).getroot().iter("skipped")
    return Counter(element.attrib.get("message", "") for element in elements)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
