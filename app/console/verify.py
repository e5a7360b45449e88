"""`--verify DIR`: what is damaged in a run folder, a line for each, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from app.console.damage import DAMAGED, OK
from app.results.exports.verified import exported
from app.results.plain import printable
from app.results.verify import Verified, verify


def verified(folder: str) -> tuple[str, int]:
    """What to print and the exit code; ResultsError for a folder that is no run."""
    found = verify(Path(folder), exported)
    lines = [printable(line) for line in _lines(found)]
    return "".join(f"{line}\n" for line in lines), DAMAGED if found.damaged else OK


def _lines(found: Verified) -> Iterator[str]:
    for finding in found.findings:
        mark = "note" if finding.harmless else "damaged"
        yield f"{mark}: {finding.file} {finding.what}: {finding.remedy}"
    whole = f"{found.lines:,} lines, {found.rounds:,} rounds, {found.samples:,} measured runs"
    if found.live:
        whole += "; it is being written now: look again when it has ended"
    yield f"{'damaged; whole are' if found.damaged else 'whole:'} {whole}"
