"""A run folder -> its run: the manifest and all journals, merged, read on from look to look.

Reads a finished run, one that is still being written and one that was killed alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.cases.errors import ResultsError
from app.results import lines
from app.results.journal import FOLDER
from app.results.ledger import Ledger
from app.results.manifest import MANIFEST, SCHEMA_VERSION, Manifest, read_manifest
from app.results.run import Run
from app.results.soundness import sound
from exporters.codec import CodecError
from exporters.regular import open_file, read_file


def read_run(path: Path) -> Run:
    """All that a run folder holds but rounds whose samples are damaged, which it names.

    ResultsError if it is none, a line of it is damaged, or it is of another schema.
    """
    return sound(JournalReader(path).whole().run)


def read_environments(path: Path) -> dict[str, Mapping[str, Any]]:
    """By host what it was, of the journals' first lines alone; what can't be read tells nothing."""
    found: dict[str, Mapping[str, Any]] = {}
    for journal in sorted((path / FOLDER).glob("*.jsonl")):
        try:
            with open_file(journal) as file:
                line = lines.parsed(file.readline().removesuffix(b"\n"), SCHEMA_VERSION)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
        if isinstance(line, lines.Writer):
            found.setdefault(line.host, line.environment)
    return found


class JournalReader:
    """`poll` takes in what was added since; `ledger` is what it came to so far, without the
    lines that can't be understood, of which `damaged` has an error each.

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
        return {path.name: lines for path, (_, lines) in self._read.items()}

    def whole(self) -> Ledger:
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
        changed: set[str] = set()
        for path in sorted((self.folder / FOLDER).glob("*.jsonl")):
            changed |= self._read_on(path)
        return changed - {""}

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
        whole = data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]
        self._read[path] = offset + sum(map(len, whole)) + len(whole), number + len(whole)
        changed = set()
        for place, text in enumerate(whole, start=number + 1):
            line = self._understood(path, place, text)
            if isinstance(line, lines.Writer) and not self.ledger.manifest.owns(line.run_id):
                self._foreign.add(path)
                self.damaged.append(
                    ResultsError(f"{path} belongs to another run", "move it out of the folder")
                )
                break
            if line is not None:
                changed.add(self.ledger.take(path.name, line, text))
        return changed

    def _understood(self, path: Path, number: int, text: bytes) -> lines.Line | None:
        try:
            return lines.parsed(text, self.ledger.manifest.schema_version)
        except CodecError as error:
            self.damaged.append(
                ResultsError(
                    f"line {number} of {path} is damaged ({error})",
                    "remove that line and resume the run",
                )
            )
            return None
