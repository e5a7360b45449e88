"""`python -m tests.gpu --minutes 9 --out DIR`: what every GPU runtime states, checked on a GPU.

Each check is one line: what it got, what it wanted, and `pass`, `fail` or `not run`. The lines are
in DIR/checks.csv, what engines print in DIR/RUNTIME.log. A second call with the same DIR makes the
checks that have no verdict yet. Exit code: 0 if nothing failed and something passed, 1 if a check
failed, 3 if none could be made.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from runtimes import registry
from runtimes.cuda import driver
from tests.gpu.checks import GPU_RUNTIMES
from tests.gpu.processes import Place, RuntimeChecks
from tests.gpu.results import MACHINE_FILE, VERDICTS, Record
from tests.gpu.stand_in import CORRECT, STAND_INS

FAILED, NOTHING_RUN = 1, 3


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    flags = parser.parse_args(arguments)
    unknown_names = sorted({*flags.runtimes} - {*GPU_RUNTIMES})
    if unknown_names:
        known_names = ", ".join(GPU_RUNTIMES)
        parser.error(
            f"RUNTIME: not a GPU runtime (got {', '.join(unknown_names)}). Use {known_names}."
        )
    begin = time.monotonic()
    flags.out.mkdir(parents=True, exist_ok=True)
    difference = claim(flags.out, machine(flags.stand_in))
    if difference:
        parser.error(f"--out: {flags.out} holds checks of {difference}. Use another folder.")
    runtimes = flags.runtimes or GPU_RUNTIMES
    # Those that are not there come first: they need no part of the time.
    runtimes = sorted(runtimes, key=lambda name: bool(registry.load(name).availability()))
    record, end = Record(flags.out), begin + flags.minutes * 60
    with tempfile.TemporaryDirectory() as models:
        place = Place(Path(models), flags.out, flags.stand_in, flags.limit)
        for index, runtime in enumerate(runtimes):
            now = time.monotonic()
            # A runtime that is slow, or hangs, leaves their part of the time to the others.
            deadline = now + max(end - now, 0) / (len(runtimes) - index)
            RuntimeChecks(runtime, place, record, deadline).run()
    counts = Counter(line.verdict for line in record.lines.values())
    numbers = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
    print(f"{counts.total()} checks: {numbers}; {time.monotonic() - begin:.0f} s")
    if counts["fail"]:
        return FAILED
    return 0 if counts["pass"] else NOTHING_RUN


def machine(stand_in: str) -> dict[str, str]:
    """What the verdicts in a folder are of."""
    facts = {"python": sys.version.split()[0], "stand_in": stand_in, "device": "", "uuid": ""}
    if stand_in:
        return facts
    try:
        names, (major, minor) = driver.device_names(), driver.version()
    except (OSError, driver.CudaError):
        return facts
    device = {"device": names[0] if names else "", "uuid": driver.uuid_of(0) if names else ""}
    return {**facts, **device, "driver_cuda": f"{major}.{minor}"}


def claim(folder: Path, values: dict[str, str]) -> str:
    """Have the folder say what its verdicts are of; what else it says already, empty if nothing."""
    path = folder / MACHINE_FILE
    if not path.exists():
        start_time = datetime.now(UTC).isoformat(timespec="seconds")
        path.write_text(
            json.dumps({**values, "begun": start_time}, indent=1) + "\n", encoding="utf-8"
        )
        return ""
    earlier = json.loads(path.read_text(encoding="utf-8"))
    different = [name for name in values if earlier.get(name) != values[name]]
    return ", ".join(f"{name} {earlier.get(name) or 'none'}" for name in different)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu", description=__doc__)
    add = parser.add_argument
    add("runtimes", nargs="*", metavar="RUNTIME", help="all, if none")
    add("--minutes", type=_positive, default=9.0, metavar="N", help="time for all checks (9)")
    add("--out", type=Path, required=True, metavar="DIR", help="folder of the verdicts")
    add("--limit", type=_positive, metavar="S", help="seconds for each check (the table's)")
    add(
        "--stand-in",
        choices=STAND_INS,
        default="",
        metavar="NAME",
        help=f"rehearse without a GPU: {CORRECT}, or a defect of stand_in.py",
    )
    return parser


def _positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise ValueError
    return value


if __name__ == "__main__":
    sys.exit(main())
