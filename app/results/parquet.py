"""Rows and raw samples as Parquet files, for those who analyse with dataframes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.cases.chosen_columns import all_names
from app.cases.column import Row, Value
from app.cases.round import latency_ns
from app.results.plain import storable
from app.results.run import SAMPLES, Run, read_records

RESULTS, SAMPLES_FILE = "results.parquet", "samples.parquet"


def export_parquet(run: Run, rows: Sequence[Row]) -> tuple[Path, Path]:
    """Write `results.parquet` and `samples.parquet` into the run folder.

    The latter has one record for each iteration, warm-up included: case_id, round, phase
    (`warmup` or `measured`), lane, and in int64 nanoseconds the three times and the latency, which
    an open loop counts from the first of them. It is written a round at a time, so that memory
    does not grow with the run.
    """
    import pyarrow as pa
    from pyarrow import parquet

    results, samples = run.path / RESULTS, run.path / SAMPLES_FILE
    columns = {name: pa.array([_cell(row.get(name)) for row in rows]) for name in all_names(rows)}
    parquet.write_table(pa.table(columns), results)
    schema = pa.schema(
        [
            ("case_id", pa.string()),
            ("round", pa.int32()),
            ("phase", pa.string()),
            ("lane", pa.int32()),
            ("scheduled_ns", pa.int64()),
            ("started_ns", pa.int64()),
            ("finished_ns", pa.int64()),
            ("latency_ns", pa.int64()),
        ]
    )
    with parquet.ParquetWriter(samples, schema) as writer:
        for case in run.cases:
            for result in run.rounds_of(case):
                if not result.samples:
                    continue
                records = read_records(run.path / SAMPLES / result.samples)
                count = len(records)
                phases = pa.array(["warmup", "measured"]).take(pa.array(records["phase"]))
                writer.write_table(
                    pa.table(
                        [
                            pa.array([result.case_id] * count, pa.string()),
                            pa.array([result.round] * count, pa.int32()),
                            phases,
                            *(pa.array(records[name]) for name in schema.names[3:-1]),
                            pa.array(latency_ns(records, result.open_loop is not None)),
                        ],
                        schema=schema,
                    )
                )
    return results, samples


def _cell(value: Value) -> Value:
    return storable(value) if isinstance(value, str) else value
