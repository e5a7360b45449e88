"""The reader of a run folder: manifest and journals merged, samples checked against them.

A line is on disk after its samples, so what differs was changed since: cut, overwritten, gone.

Reads a finished run, one that is still being written and one that was killed alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from app.cases.errors import ResultsError
from app.cases.round import FIRST_OF_SHAPE, MEASURED, WARMUP, RoundResult
from app.run_folder import journal as lines
from app.run_folder.journal import journals, source_of
from app.run_folder.ledger import Ledger
from app.run_folder.manifest import MANIFEST, Manifest, read_manifest
from app.run_folder.run import Run, records_of
from exporters.codec import CodecError
from exporters.diagnostics import Diagnostic, diagnostic
from exporters.file_access import open_file, read_file

MAXIMUM_NAMED = 20
"""Damaged lines of a journal that are named one by one."""
_TIMES = ("finished_ns", "started_ns")
_PHASES = {WARMUP, MEASURED, FIRST_OF_SHAPE}
_LONGEST_NS = 366 * 24 * 3600 * 10**9


def damage(samples: Path, result: RoundResult) -> Diagnostic | None:
    """What is wrong with the file of a round's samples."""
    try:
        data = read_file(samples)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return diagnostic("samples_unreadable", round=result.round + 1, error=reason)
    records, number = records_of(data), result.round + 1
    expected = result.warmup_iterations + result.iterations
    if len(records) < expected:
        return diagnostic("samples_cut", round=number, held=len(records), expected=expected)
    fault = _fault_in(records, result)
    return diagnostic("samples_damaged", round=number, damage=fault) if fault else None


def _fault_in(records: np.ndarray, result: RoundResult) -> str:
    """A code of `samples_damaged`; "" for records that the round may have."""
    phases, lanes = np.ascontiguousarray(records["phase"]), np.ascontiguousarray(records["lane"])
    # Runs after a pause, as between blocks, do not count either and have the phase of warm-up.
    measured_count = np.count_nonzero(phases == MEASURED)
    is_valid = measured_count == len(phases) or set(np.unique(phases).tolist()) <= _PHASES
    if not is_valid or measured_count != result.iterations:
        return "phases"
    is_open = result.open_loop is not None
    times = [
        np.ascontiguousarray(records[name])
        for name in (_TIMES if not is_open else (*_TIMES, "scheduled_ns"))
    ]
    if any(_extent_ns(values) > _LONGEST_NS for values in times):
        return "extent"
    # By their difference, which tells of times too far apart for it as well.
    finish_times, *starts = times
    if any((finish_times - values < 0).any() for values in starts):
        return "order"
    by_shape = "shapes_sha256" in result.facts
    lanes_valid = not len(lanes) or 0 <= lanes.min() <= lanes.max() < result.concurrency
    if not by_shape and not lanes_valid:
        return "lanes"
    if result.samples_crc32 is not None and crc32(records.data) != result.samples_crc32:
        return "checksum"
    return ""


def _extent_ns(times: np.ndarray) -> int:
    """As a Python number, which has room for the difference of any two times."""
    return int(times.max()) - int(times.min()) if len(times) else 0


def drop_damaged_rounds(run: Run) -> Run:
    """The run without its damaged rounds, which it names with what is wrong."""
    damage_by_case: dict[str, dict[int, Diagnostic]] = {}
    for case_id, rounds in run.rounds.items():
        for number in sorted(rounds):
            result = rounds[number]
            if result.samples and (problem := damage(run.samples_path(result), result)):
                damage_by_case.setdefault(case_id, {})[number] = problem
    if not damage_by_case:
        return run
    rounds_left = {
        case_id: {n: r for n, r in rounds.items() if n not in damage_by_case.get(case_id, {})}
        for case_id, rounds in run.rounds.items()
    }
    return replace(run, rounds=rounds_left, damaged=damage_by_case)


def read_run(path: Path) -> Run:
    """All that a run folder holds but rounds whose samples are damaged, which it names.

    ResultsError if it is none, a line of it is damaged, or it is of another schema.
    """
    return drop_damaged_rounds(JournalReader(path).read_all().run)


def read_environments(path: Path) -> dict[str, Mapping[str, Any]]:
    """By host what it was, of the journals' first lines alone; what can't be read tells nothing."""
    environments: dict[str, Mapping[str, Any]] = {}
    for journal in journals(path):
        try:
            with open_file(journal) as file:
                line = lines.parse_line(file.readline().removesuffix(b"\n"))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
        if isinstance(line, lines.Writer):
            environments.setdefault(line.host, line.environment)
    return environments


class JournalReader:
    """`poll` takes in what was added since; `ledger` is what it came to so far, without the
    lines that can't be understood, of which `damaged` has an error for each of the first.

    `manifest` is the folder's where it is known already.
    """

    def __init__(self, folder: Path, manifest: Manifest | None = None) -> None:
        self.folder = folder
        self.ledger = Ledger(folder, manifest or read_manifest(folder))
        self.damaged: list[ResultsError] = []
        self._read: dict[Path, tuple[int, int]] = {}  # bytes and lines of each journal
        self._foreign: set[Path] = set()

    @property
    def journal_lines(self) -> dict[str, int]:
        """How many whole lines were read, by the name of the journal file."""
        return {source_of(self.folder, path): lines for path, (_, lines) in self._read.items()}

    @property
    def has_journals(self) -> bool:
        """Whether somebody has written to the run."""
        return bool(journals(self.folder))

    def read_all(self) -> Ledger:
        """All that there is, for who must not miss a line; ResultsError for the first damaged."""
        self.poll()
        if self.damaged:
            raise self.damaged[0]
        return self.ledger

    def poll(self) -> set[str]:
        """The ids of the cases with new lines; ResultsError if the folder is gone or can't be read.

        A last line that a kill or a full disk tore, or that is being written, is left for the
        next look.
        """
        if not (self.folder / MANIFEST).is_file():
            raise ResultsError(
                f"the run folder {self.folder} is gone", "put it back, or open another run"
            )
        changed_ids: set[str] = set()
        for path in journals(self.folder):
            changed_ids |= self._read_on(path)
        return changed_ids - {""}

    def _read_on(self, path: Path) -> set[str]:
        if path in self._foreign:
            return set()
        offset, number = self._read.get(path, (0, 0))
        try:
            data = read_file(path, offset)
        except OSError as error:
            raise ResultsError(
                f"{path} can't be read ({error.strerror})", "open the run again when it can"
            ) from None
        complete = data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]
        self._read[path] = offset + sum(map(len, complete)) + len(complete), number + len(complete)
        changed_ids = set()
        for place, text in enumerate(complete, start=number + 1):
            line = self._parse_line(path, place, text)
            if isinstance(line, lines.Writer) and line.run_id != self.ledger.manifest.run_id:
                self._foreign.add(path)
                self.damaged.append(
                    ResultsError(f"{path} belongs to another run", "move it out of the folder")
                )
                break
            if line is not None:
                source, folder = source_of(self.folder, path), path.parents[1]
                elsewhere = folder if folder != self.folder else None
                changed_ids.add(self.ledger.take(source, line, elsewhere))
        return changed_ids

    def _parse_line(self, path: Path, number: int, text: bytes) -> lines.Line | None:
        try:
            return lines.parse_line(text)
        except CodecError as error:
            if len(self.damaged) >= MAXIMUM_NAMED:
                return None
            self.damaged.append(
                ResultsError(
                    f"line {number} of {path} is damaged ({error})",
                    "remove that line and resume the run",
                )
            )
            return None
