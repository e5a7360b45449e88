"""`graphlap verify`, and the notes of other commands that leave out damaged parts of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.formatting.text import printable
from app.present.document import Block, Paragraph, names, table
from app.run_folder.files import Finding
from app.runs.exporting.verification import exported
from app.runs.verify import Verified, Whole, verify

OK, DAMAGED = 0, 1


def damage(runs: Sequence[Whole]) -> tuple[str, ...]:
    """A sentence for each thing that is damaged in one of them."""
    return tuple(f"{run.run.path}: {sentence}" for run in runs for sentence in run.left_out)


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of runs: blocks, and a sentence for each thing in the runs that is damaged."""

    blocks: tuple[Block, ...]
    damage: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """The exit code."""
        return DAMAGED if self.damage else OK


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
