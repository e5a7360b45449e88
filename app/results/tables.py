"""The tables of a run folder: one with every column for programs, one with a selection for people.

`results.full.csv` is what every reader of ours takes. In folders of earlier releases `results.csv`
is the full table; the manifest names it. Both are replaced whole, the full one first: a kill
between the two leaves a table for people that is one renewal older.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.cases.chosen_columns import all_names
from app.cases.column import Row
from app.cases.column_choice import columns_for_people, columns_with_values
from app.results.folder import RESULTS, RunFolder
from app.results.manifest import Manifest
from app.results.table import to_csv


def has_one_table(manifest: Manifest) -> bool:
    """Whether `results.csv` is the full table of this run, as in those of earlier releases."""
    return manifest.full_table == RESULTS


def tables(
    manifest: Manifest, rows: Sequence[Row], words: Sequence[str] = ()
) -> Iterator[tuple[str, bytes]]:
    """Name and content of each table of these rows, the full one first; `words` are those of
    `--columns`."""
    yield manifest.full_table, to_csv(rows)
    if not has_one_table(manifest):
        names = columns_for_people(words, all_names(rows), columns_with_values(rows))
        yield RESULTS, to_csv(rows, names)


def write_tables(folder: RunFolder, rows: Sequence[Row], words: Sequence[str] = ()) -> None:
    """Replace the tables of a run; DiskError if one can't be written."""
    for name, content in tables(folder.manifest, rows, words):
        folder.write(name, content)
