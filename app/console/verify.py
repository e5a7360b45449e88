"""`graphlap verify`: what is damaged in a run folder, a line for each, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.console.damage import DAMAGED, OK
from app.present.document import Block, Paragraph, names, table
from app.results.exports.verified import exported
from app.results.finding import Finding
from app.results.plain import printable
from app.results.verify import Verified, verify


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found in a folder: lines for a terminal, where paths stay whole, or blocks."""

    found: Verified

    @property
    def code(self) -> int:
        """The exit code."""
        return DAMAGED if self.found.damaged else OK

    @property
    def text(self) -> str:
        """A line for each finding, then what is whole."""
        findings = (
            f"{_mark(one)}: {one.file} {one.what}: {one.remedy}" for one in self.found.findings
        )
        return "".join(f"{printable(line)}\n" for line in (*findings, self._summary()))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The same as a table and a sentence."""
        rows = [(_mark(one), str(one.file), one.what, one.remedy) for one in self.found.findings]
        found = table(names("verdict", "file", "finding", "action"), rows)
        return found, Paragraph(self._summary())

    def _summary(self) -> str:
        found = self.found
        whole = f"{found.lines:,} lines, {found.rounds:,} rounds, {found.samples:,} measured runs"
        if found.live:
            whole += "; it is being written now: look again when it has ended"
        return f"{'damaged; whole are' if found.damaged else 'whole:'} {whole}"


def verified(folder: str) -> Verdict:
    """What is damaged in a folder; ResultsError for one that is no run."""
    return Verdict(verify(Path(folder), exported))


def _mark(finding: Finding) -> str:
    return "note" if finding.harmless else "damaged"
