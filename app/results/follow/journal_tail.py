"""The journals of a run folder, read on from where the last reading ended.

The same run as `app.results.reader.read_run` gives, without reading everything again for
each new round.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from app.cases.accuracy import AccuracyResult
from app.cases.case import Case
from app.cases.errors import ResultsError
from app.cases.round import RoundResult
from app.results.journal import FOLDER
from app.results.manifest import MANIFEST, read_manifest
from app.results.reader import Run
from exporters.codec import from_json
from exporters.types import ExportedModel


class JournalTail:
    """`poll` takes in new lines; `run` is what they came to so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = read_manifest(folder)
        self.environments: dict[str, dict[str, Any]] = {}
        self._offsets: dict[Path, int] = {}
        self._host: dict[Path, str] = {}
        self._rounds: dict[str, dict[int, RoundResult]] = {}
        self._hosts: dict[str, str] = {}
        self._models: dict[tuple[str, str], ExportedModel] = {}
        self._accuracies: dict[str, AccuracyResult] = {}
        self._tried: dict[str, Case] = {}
        self._profiles: dict[str, dict[str, Any]] = {}
        self._damage: ResultsError | None = None

    @property
    def run(self) -> Run:
        return Run(
            self.folder,
            self.manifest,
            self._rounds,
            self._hosts,
            self._models,
            self._accuracies,
            tuple(self._tried.values()),
            self._profiles,
        )

    def poll(self) -> set[str]:
        """The ids of the cases with new lines; ResultsError if the folder is gone or damaged.

        Damage stays: what follows a line that can't be understood is not taken for the run.
        """
        if self._damage is not None:
            raise self._damage
        if not (self.folder / MANIFEST).is_file():
            raise ResultsError(
                f"the run folder {self.folder} is gone", "put it back, or open another run"
            )
        changed: set[str] = set()
        for path in sorted((self.folder / FOLDER).glob("*.jsonl")):
            changed |= self._read_on(path)
        return changed

    def _read_on(self, path: Path) -> set[str]:
        offset = self._offsets.get(path, 0)
        try:
            with path.open("rb") as file:
                file.seek(offset)
                data = file.read()
        except OSError as error:
            raise ResultsError(
                f"{path} can't be read ({error.strerror})", "open the run again when it can"
            ) from None
        whole = data[: data.rfind(b"\n") + 1]  # a torn last line waits for its rest
        self._offsets[path] = offset + len(whole)
        return {case_id for line in whole.splitlines() for case_id in self._take(path, line)}

    def _take(self, path: Path, text: bytes) -> tuple[str, ...]:
        try:
            line = json.loads(text)
            kind = line.pop("kind", "")
            if kind == "writer":
                self._host[path] = line["host"]
                self.environments.setdefault(line["host"], line.get("environment", {}))
            elif kind == "model":
                model = from_json(ExportedModel, line["model"])
                self._models[line["asked"], line["precision"]] = model
            elif kind == "round":
                result = RoundResult.from_json(line)
                self._rounds.setdefault(result.case_id, {}).setdefault(result.round, result)
                self._hosts.setdefault(result.case_id, self._host.get(path, ""))
                return (result.case_id,)
            elif kind == "accuracy":
                accuracy = AccuracyResult.from_json(line)
                self._accuracies.setdefault(accuracy.subject, accuracy)
            elif kind == "case":
                case = Case.from_json(line["case"])
                self._tried.setdefault(case.case_id, case)
                return (case.case_id,)
            elif kind == "profile":
                self._profiles.setdefault(line["case_id"], line)
                return (line["case_id"],)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self._damage = ResultsError(
                f"{path} has a line that can't be understood ({error!r})",
                "restore the file, or start a new run",
            )
            raise self._damage from None
        return ()
