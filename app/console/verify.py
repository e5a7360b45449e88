"""`graphlap verify`, and the notes of other commands that leave out damaged parts of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.console.export_formats import check_derived
from app.formatting.text import counted, printable
from app.present.document import Block, Paragraph, names, table
from app.run_folder.files import Finding
from app.runs.verify import IntactRun, Verification, verify

OK, DAMAGED = 0, 1


def damage(runs: Sequence[IntactRun]) -> tuple[str, ...]:
    """A sentence for each thing that is damaged in one of them."""
    return tuple(f"{run.run.path}: {sentence}" for run in runs for sentence in run.damage_texts)


@dataclass(frozen=True, slots=True)
class RunDocument:
    """What is shown of runs: blocks, a sentence for each thing in the runs that is damaged, and
    facts for programs."""

    blocks: tuple[Block, ...]
    damage: tuple[str, ...] = ()
    facts: Callable[[], Mapping[str, Any]] = dict

    @property
    def code(self) -> int:
        """The exit code."""
        return DAMAGED if self.damage else OK


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was found in a folder: lines for a terminal, where paths stay whole, or blocks."""

    verification: Verification

    @property
    def code(self) -> int:
        """The exit code."""
        return DAMAGED if self.verification.damaged else OK

    @property
    def text(self) -> str:
        """A line for each finding, then what is whole."""
        findings = (
            f"{_mark(finding)}: {finding.file} {finding.problem}: {finding.remedy}"
            for finding in self.verification.findings
        )
        return "".join(f"{printable(line)}\n" for line in (*findings, self._summary()))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The same as a table and a sentence."""
        rows = [
            (_mark(finding), finding.code, str(finding.file), finding.problem, finding.remedy)
            for finding in self.verification.findings
        ]
        findings_table = table(names("verdict", "code", "file", "finding", "action"), rows)
        return findings_table, Paragraph(self._summary())

    def _summary(self) -> str:
        verification = self.verification
        intact_text = (
            f"{counted(verification.lines, 'line')}, {counted(verification.rounds, 'round')}, "
            f"{counted(verification.samples, 'measured run')}"
        )
        if verification.live:
            intact_text += "; it is being written now: look again when it has ended"
        return f"{'damaged; whole are' if verification.damaged else 'whole:'} {intact_text}"


def verify_folder(folder: str) -> VerifyReport:
    """What is damaged in a folder; ResultsError for one that is no run."""
    return VerifyReport(verify(Path(folder), check_derived))


def _mark(finding: Finding) -> str:
    return "note" if finding.harmless else "damaged"
