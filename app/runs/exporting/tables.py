"""Rows and raw samples as tables for other programs: CSV, Parquet, dataframes.

Whole numbers and words become text a block at a time, so that millions of lines take seconds: a
block is a matrix of bytes, a row for each line, with cells as wide as the widest, and a mask of
the bytes that are kept. Digits come four at once from a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from app.analysis.columns.rows import row_names
from app.analysis.columns.table import all_names, column
from app.analysis.columns.tables import tables
from app.cases.case import Case
from app.cases.column import Kind, Row, Value
from app.cases.errors import ResultsError
from app.cases.round import MEASURED, RECORD, RoundResult, latency_ns
from app.formatting.text import storable
from app.run_folder.files import replacing, write_atomically
from app.run_folder.folder import RESULTS
from app.run_folder.journal import FOLDER
from app.run_folder.manifest import FULL_TABLE
from app.run_folder.run import Run, read_records
from app.run_folder.table import read_rounds
from app.runs.verify import count_missing_rounds

if TYPE_CHECKING:
    import pandas as pd


NAMES = (
    "case_id",
    "round",
    "phase",
    "lane",
    "scheduled_ns",
    "started_ns",
    "finished_ns",
    "latency_ns",
)
"""What a table of samples has of each iteration, warm-up included."""
PHASES = ("warmup", "measured", "first_seen")
"""The phase of a record, by its number."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A round with its samples: `app.cases.round.RECORD` records [n]."""

    case: Case
    result: RoundResult
    records: np.ndarray

    @property
    def latency_ns(self) -> np.ndarray:
        """int64 [n]; of an open loop it counts from when a run was due."""
        return latency_ns(self.records, self.result.open_loop is not None)


def recordings(run: Run) -> Iterator[Recording]:
    """Each round that has samples, in the order of the cases; ResultsError if a file is gone."""
    for case in run.cases:
        for result in run.rounds_of(case):
            if result.samples:
                yield Recording(case, result, read_records(run.samples_path(result)))


_AT_ONCE = 10_000
_FOURS = np.array([f"{number:04d}" for number in range(_AT_ONCE)], "S4").view(np.uint32)

Block = tuple[np.ndarray, np.ndarray]
"""Bytes [n, width] and which of them are kept [n, width]."""


def join_cells(cells: Sequence[Block]) -> bytes:
    """The cells of each line with commas between them and a line break behind."""
    count = len(cells[0][0])
    separators = [np.full((count, 1), ord(mark), np.uint8) for mark in ",\n"]
    always = np.ones((count, 1), bool)
    parts, masks = [], []
    for place, (text, mask) in enumerate(cells):
        parts += [text, separators[place == len(cells) - 1]]
        masks += [mask, always]
    joined_cells: np.ndarray = np.concatenate(parts, axis=1)[np.concatenate(masks, axis=1)]
    return joined_cells.tobytes()


def word_cells(vocabulary: Sequence[str], indices: np.ndarray) -> Block:
    """For each line the word of its number [n]; words are ASCII."""
    table = np.array([word.encode("ascii") for word in vocabulary])
    letters = table.view(np.uint8).reshape(len(vocabulary), -1)
    return letters[indices], (letters != 0)[indices]


def number_cells(values: np.ndarray) -> Block:
    """Whole numbers [n] in decimals, with a minus and without leading zeros."""
    size = np.abs(values.astype(np.int64))
    width = len(str(int(size.max(initial=0))))
    fours = np.empty((len(size), -(-width // 4)), np.uint32)
    rest = size
    for place in reversed(range(fours.shape[1])):
        higher = rest // _AT_ONCE
        fours[:, place] = _FOURS[rest - higher * _AT_ONCE]
        rest = higher
    text = fours.view(np.uint8)[:, -width:]
    mask = np.ones(text.shape, bool)
    for place in range(width - 1):
        mask[:, place] = size >= 10 ** (width - 1 - place)
    if not (values < 0).any():
        return text, mask
    minus = np.full((len(size), 1), ord("-"), np.uint8)
    return np.hstack([minus, text]), np.hstack([(values < 0)[:, None], mask])


SAMPLES_FILE = "samples.csv"
_LINES_AT_ONCE = 1 << 13


def export_tables(run: Run, rows: Sequence[Row], columns: Sequence[str]) -> Iterator[Path]:
    """Write the tables of the rows into the run folder; `columns` are the words of `--columns`."""
    for name, content in tables(rows, columns):
        write_atomically(run.path / name, content)
        yield run.path / name


def export_samples(run: Run, _: Sequence[Row]) -> tuple[Path, ...]:
    """Write `samples.csv` into the run folder, with what the one in Parquet has."""
    samples = run.path / SAMPLES_FILE
    with replacing(samples) as file:
        file.writelines(sample_lines(run))
    return (samples,)


def sample_lines(run: Run) -> Iterator[bytes]:
    """The parts of `samples.csv`."""
    yield f"{','.join(NAMES)}\n".encode()
    block, count = list[Recording](), 0
    for item in recordings(run):
        for begin in range(0, len(item.records), _LINES_AT_ONCE):
            block.append(replace(item, records=item.records[begin : begin + _LINES_AT_ONCE]))
            count += len(block[-1].records)
            if count >= _LINES_AT_ONCE:
                yield _lines(block)
                block, count = [], 0
    if block:
        yield _lines(block)


def _lines(block: Sequence[Recording]) -> bytes:
    """Those of some rounds, or of a part of one, together: most rounds are short."""
    # An id is 12 hex digits and a phase a word of ours: nothing needs quotes.
    prefixes = [
        f"{item.result.case_id},{item.result.round},{phase}" for item in block for phase in PHASES
    ]
    records = np.concatenate([item.records for item in block])
    first = np.repeat(
        np.arange(0, len(prefixes), len(PHASES)), [len(item.records) for item in block]
    )
    numbers = [records[name] for name in NAMES[3:-1]]
    numbers.append(np.concatenate([item.latency_ns for item in block]))
    return join_cells([word_cells(prefixes, first + records["phase"]), *map(number_cells, numbers)])


_PARQUET_RESULTS, PARQUET_SAMPLES_FILE = "results.parquet", "samples.parquet"


def export_parquet(run: Run, rows: Sequence[Row]) -> tuple[Path, ...]:
    """Write `results.parquet` and `samples.parquet` into the run folder.

    The columns of the former have their types whether or not this run fills them, so that those of
    several runs can be put together. The latter has one record for each iteration, warm-up
    included: case_id, round, phase (`warmup` or `measured`), lane, and in int64 nanoseconds the
    three times and the latency, which an open loop counts from the first of them.
    """
    import pyarrow as pa
    from pyarrow import parquet

    results, samples = run.path / _PARQUET_RESULTS, run.path / PARQUET_SAMPLES_FILE
    types = {"text": pa.string(), "count": pa.int64(), "number": pa.float64(), "flag": pa.bool_()}
    columns = {
        name: pa.array(
            [_cell(row.get(name)) for row in rows], definition and types[definition.kind]
        )
        for name in all_names(rows)
        for definition in [column(name)]
    }
    with replacing(results) as file:
        parquet.write_table(pa.table(columns), file)
    kinds = (pa.string(), pa.int32(), pa.string(), pa.int32(), *(pa.int64(),) * 4)
    schema = pa.schema(list(zip(NAMES, kinds, strict=True)))
    # Times hardly repeat: a dictionary of them is only looked for in vain.
    dictionary_columns = [name for name in NAMES if not name.endswith("_ns")]
    with (
        replacing(samples) as file,
        parquet.ParquetWriter(file, schema, use_dictionary=dictionary_columns) as writer,
    ):
        for item in recordings(run):
            count = len(item.records)
            writer.write_table(
                pa.table(
                    [
                        pa.repeat(pa.scalar(item.result.case_id, pa.string()), count),
                        pa.repeat(pa.scalar(item.result.round, pa.int32()), count),
                        pa.array(PHASES).take(pa.array(item.records["phase"])),
                        *(pa.array(item.records[name]) for name in NAMES[3:-1]),
                        pa.array(item.latency_ns),
                    ],
                    schema=schema,
                )
            )
    return results, samples


def _cell(value: Value) -> Value:
    return storable(value) if isinstance(value, str) else value


_TYPES: dict[Kind, str] = {
    "text": "string",
    "count": "Int64",
    "number": "float64",
    "flag": "boolean",
}
"""pandas' own, by the kind of a column."""


def pandas() -> ModuleType:
    """The package; ResultsError names the extra that brings it."""
    try:
        import pandas as pd
    except ImportError:
        raise ResultsError(
            "a dataframe needs pandas, which is not installed", "pip install 'graphlap[data]'"
        ) from None
    return pd


def run_frame(run: Run, rows: Sequence[Row]) -> pd.DataFrame:
    """One line for each case of a run, with the columns of its `results.csv`."""
    return frame_of(rows, row_names(run.manifest.requested_plan))


def frame_of(rows: Sequence[Row], names: Sequence[str] = ()) -> pd.DataFrame:
    """One line for each row, with all columns and their own types, whether or not these rows fill
    them: `Int64`, `boolean` and `string` have room for what was not measured. `names` are columns
    that are there even if no row has them.

    Rows of a run folder and of its `results.csv` give the same frame: a text that is empty is
    missing, since a file has no other form for it.
    """
    pd = pandas()
    columns = dict.fromkeys((*all_names(rows), *names))
    kinds = {name: definition.kind if (definition := column(name)) else "text" for name in columns}
    return pd.DataFrame(
        {
            name: pd.Series([_frame_cell(row.get(name)) for row in rows], dtype=_TYPES[kind])
            for name, kind in kinds.items()
        }
    )


def _frame_cell(value: Value) -> Value:
    """A name may hold bytes that no dataframe takes."""
    return storable(value) or None if isinstance(value, str) else value


def samples_frame(run: Run, case_id: str = "", warmup: bool = False) -> pd.DataFrame:
    """One line for each iteration of all cases or of one, with `warmup` those that do not count."""
    pd = pandas()
    parts = [
        _frame(pd, item, warmup)
        for item in recordings(run)
        if not case_id or item.case.case_id == case_id
    ]
    if parts:
        return pd.concat(parts, ignore_index=True)
    blank = {name: np.zeros(1, RECORD)[name] for name in NAMES[3:-1]}
    item = {"case_id": "", "round": 0, "phase": "", **blank, "latency_ns": 0}
    return pd.DataFrame(item).iloc[:0]  # of the types that samples have


def _frame(pd: ModuleType, recording: Recording, warmup: bool) -> pd.DataFrame:
    mask = slice(None) if warmup else recording.records["phase"] == MEASURED
    records, latency_ns = recording.records[mask], recording.latency_ns[mask]
    columns = {
        "case_id": recording.result.case_id,
        "round": recording.result.round,
        "phase": [PHASES[phase] for phase in records["phase"]],
        **{name: records[name] for name in NAMES[3:-1]},
        "latency_ns": latency_ns,
    }
    return pd.DataFrame(columns)


def back_up_fuller_table(run: Run) -> str:
    """Rename the full table if it has more rounds than the run, and say so; "" otherwise.

    Where that table is gone, the one for people is kept likewise.
    """
    for name in (FULL_TABLE, RESULTS):
        table = run.path / name
        missing = count_missing_rounds(read_rounds(table), run)
        if missing:
            backup = next(path for path in _names(run.path / RESULTS) if not path.exists())
            table.rename(backup)
            return f"{table} held {missing:,} rounds that {FOLDER}/ lacks: it is now {backup}"
    return ""


def _names(table: Path) -> Iterator[Path]:
    for number in count(1):
        place = f".{number}" if number > 1 else ""
        yield table.with_name(f"{table.stem}.earlier{place}{table.suffix}")
