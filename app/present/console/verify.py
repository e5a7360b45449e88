"""`graphlap verify`, and the notes of other commands that leave out damaged parts of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.formatting.text import counted, printable
from app.present.console.export_formats import check_derived
from app.present.document import Block, Paragraph, names, table
from app.runs.verify import IntactRun, verify

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


def verify_folder(folder: str) -> tuple[int, tuple[Block, ...], str]:
    """The exit code and what is damaged in a folder, as blocks, or as lines for a terminal, where
    paths stay whole; ResultsError for one that is no run."""
    found = verify(Path(folder), check_derived)
    rows = [
        (
            "note" if entry.harmless else "damaged",
            entry.code,
            entry.file,
            entry.problem,
            entry.remedy,
        )
        for entry in found.findings
    ]
    whole_text = (
        f"{'damaged; whole are' if found.damaged else 'whole:'} {counted(found.lines, 'line')}, "
        f"{counted(found.rounds, 'round')}, {counted(found.samples, 'measured run')}"
    )
    if found.live:
        whole_text += "; it is being written now: look again when it has ended"
    findings_table = table(names("verdict", "code", "file", "finding", "action"), rows)
    lines = [f"{mark}: {file} {problem}: {remedy}" for mark, _, file, problem, remedy in rows]
    text = "".join(f"{printable(line)}\n" for line in (*lines, whole_text))
    return DAMAGED if found.damaged else OK, (findings_table, Paragraph(whole_text)), text
