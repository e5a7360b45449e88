"""Rows and raw samples as Parquet files, for those who analyse with dataframes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.cases.chosen_columns import all_names, column
from app.cases.column import Value
from app.results.atomic import replacing
from app.results.exports.records import NAMES, PHASES, recorded
from app.results.measured import Measured
from app.results.plain import storable
from app.results.run import Run

RESULTS, SAMPLES_FILE = "results.parquet", "samples.parquet"


def export_parquet(run: Run, measured: Sequence[Measured]) -> tuple[Path, ...]:
    """Write `results.parquet` and `samples.parquet` into the run folder.

    The columns of the former have their types whether or not this run fills them, so that those of
    several runs can be put together. The latter has one record for each iteration, warm-up
    included: case_id, round, phase (`warmup` or `measured`), lane, and in int64 nanoseconds the
    three times and the latency, which an open loop counts from the first of them.
    """
    rows = [one.row for one in measured]
    import pyarrow as pa
    from pyarrow import parquet

    results, samples = run.path / RESULTS, run.path / SAMPLES_FILE
    types = {"text": pa.string(), "count": pa.int64(), "number": pa.float64(), "flag": pa.bool_()}
    columns = {
        name: pa.array([_cell(row.get(name)) for row in rows], known and types[known.kind])
        for name in all_names(rows)
        for known in [column(name)]
    }
    with replacing(results) as file:
        parquet.write_table(pa.table(columns), file)
    kinds = (pa.string(), pa.int32(), pa.string(), pa.int32(), *(pa.int64(),) * 4)
    schema = pa.schema(list(zip(NAMES, kinds, strict=True)))
    # Times hardly repeat: a dictionary of them is only looked for in vain.
    repeated = [name for name in NAMES if not name.endswith("_ns")]
    with (
        replacing(samples) as file,
        parquet.ParquetWriter(file, schema, use_dictionary=repeated) as writer,
    ):
        for one in recorded(run):
            count = len(one.records)
            writer.write_table(
                pa.table(
                    [
                        pa.repeat(pa.scalar(one.result.case_id, pa.string()), count),
                        pa.repeat(pa.scalar(one.result.round, pa.int32()), count),
                        pa.array(PHASES).take(pa.array(one.records["phase"])),
                        *(pa.array(one.records[name]) for name in NAMES[3:-1]),
                        pa.array(one.latency_ns),
                    ],
                    schema=schema,
                )
            )
    return results, samples


def _cell(value: Value) -> Value:
    return storable(value) if isinstance(value, str) else value
