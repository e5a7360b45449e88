"""Rows that were computed before, from the store of a run folder.

A row holds for one key: a digest of the case's own rounds and samples, of the manifest, of every
journal line that is of no round, and of the program. So it depends on more than the statistics of
its samples do, and has an entry of its own: where a manifest is edited, no sample is read anew.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from app.cases.case import Case
from app.cases.column import Row
from app.results.checksum import text_digest
from app.results.manifest import MANIFEST
from app.results.row_statistics import program, sound_key
from app.results.run import Run
from exporters.regular import read_file

_SCALARS = frozenset({bool, int, float, str})


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The rows of one run as it stands; `whole` tells of all of it but single rounds, and is empty
    where nothing can be stored."""

    run: Run
    whole: str

    @staticmethod
    def of(run: Run) -> StoredRows:
        if run.store is None or not run.sound:
            return StoredRows(run, "")
        try:
            manifest = text_digest(read_file(run.path / MANIFEST))
        except OSError:
            return StoredRows(run, "")
        return StoredRows(run, json.dumps([program(), manifest, sorted(run.others.items())]))

    def get(self, case: Case, names: tuple[str, ...]) -> Row | None:
        """The row of a case with these columns, None if it is not stored."""
        key = self._key(case)
        values = (
            self.run.store.get(_name(case), key) if self.run.store is not None and key else None
        )
        if values is None or not _SCALARS.issuperset(map(type, values.values())):
            return None
        row: Row = dict.fromkeys(names)
        row.update(values)
        return row if len(row) == len(names) else None

    def put(self, case: Case, row: Row) -> None:
        """Store the values that a row has now."""
        key = self._key(case)
        if self.run.store is not None and key:
            values = {name: value for name, value in row.items() if value is not None}
            self.run.store.put(_name(case), key, values)

    def _key(self, case: Case) -> str:
        """Empty for a case of which samples were not looked at."""
        run, case_id = self.run, case.case_id
        rounds = run.rounds_of(case)
        samples = sound_key(run, case, [result for result in rounds if result.samples])
        if not self.whole or not samples:
            return ""
        writers = run.writers.get(case_id, {})
        texts = (
            self.whole,
            samples,
            *(f"{one.round} {run.line_digest(one)}" for one in rounds if not one.samples),
            *(f"{number} {writer.writer}" for number, writer in sorted(writers.items())),
            *(f"{number} {what}" for number, what in run.damaged.get(case_id, {}).items()),
            repr(run.operators.get(case_id)),
        )
        return text_digest("\n".join(texts).encode())


def _name(case: Case) -> str:
    """What the entry is called, beside that of the statistics."""
    return f"{case.case_id}.row"
