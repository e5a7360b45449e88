"""What other programs read of a run: each file is read back by the format's own reader."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.__main__ import main
from app.cases.case import Case
from app.cases.errors import DiskError
from app.cases.round import RECORD, Check, OpenLoop
from app.cases.telemetry import Disturbance, Interference
from app.present.console.export_formats import FORMATS, check_derived, export
from app.run_folder.folder import RunFolder
from app.run_folder.run import Run
from app.runs.exporting.tables import join_cells, number_cells, word_cells
from app.runs.reader import read_run
from app.runs.verify import verify
from tests.app.cli.headless.batch import lines_of
from tests.app.cli.headless.batch import run as batch
from tests.app.run_folder.runs import CASE, manifest_of, record
from tests.limits import file_size_limit

HOSTILE = Case(model="a|b\n<script>&amp;`x`[l](u)\x1b[31m.onnx", runtime="fake")
WAITED = replace(CASE, runtime="fake", axes={"batch": 8})
LATENCIES_US = [10.0, 20.0, 30.0, 40.0, 1000.0]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("exports") / "run"
    with RunFolder.create(path, manifest_of((CASE, HOSTILE, WAITED))) as folder:
        # Runs stand back to back from 0 on, two of warm-up of 9,999 us before them.
        disturbance = Disturbance(19_998_000, 20_058_000, steal_ms=4.0, major_faults=2)
        interference = Interference(0.001, disturbances=(disturbance,))
        record(folder, CASE, 0, LATENCIES_US, warmup=2, interference=interference)
        record(folder, CASE, 1, [50.0])
        record(folder, HOSTILE, 0, status="crashed", reason="signal SIGSEGV: <b>|`</b>")
        late = OpenLoop("0" * 64, due=2, left=0, seconds=2e-5, utilisation=0.5)
        result = record(folder, WAITED, 0, [10.0, 10.0], open_loop=late)
        samples = folder.samples / result.samples
        records = np.fromfile(samples, RECORD)
        records["scheduled_ns"][1] = 5_000  # while the first is served, until 10,000
        records["started_ns"][1], records["finished_ns"][1] = 13_000, 23_000
        samples.write_bytes(records.tobytes())
    return read_run(path)


def made(run: Run, name: str) -> list[Path]:
    return export(run, [name])


def test_csv_has_every_iteration_with_its_times_and_its_latency(run: Run) -> None:
    full, results, samples = made(run, "csv")
    assert (results.name, full.name) == ("results.csv", "results.full.csv")
    assert [row["status"] for row in lines_of(results)] == ["ok", "crashed", "ok"]
    rows = lines_of(samples)
    case_rows = [row for row in rows if row["case_id"] == CASE.case_id]
    assert [row["phase"] for row in case_rows] == ["warmup"] * 2 + ["measured"] * 6
    assert [float(row["latency_ns"]) / 1e3 for row in case_rows] == [9999.0] * 2 + [
        *LATENCIES_US,
        50.0,
    ]
    waited_rows = [row for row in rows if row["case_id"] == WAITED.case_id]
    assert [row["latency_ns"] for row in waited_rows] == ["10000", "18000"], "from when it was due"


def test_an_error_that_is_no_number_is_told_by_every_format(tmp_path: Path) -> None:
    """As of outputs that overflow: JSON has no form for it, and a comparison none for NaN."""
    check = Check("torch", float("nan"), float("inf"), 0.0, 1e-4, False)
    with RunFolder.create(tmp_path / "run", manifest_of((CASE,))) as folder:
        record(folder, CASE, 0, [10.0], "wrong_output", reason="y is NaN", check=check)
    wrong = read_run(tmp_path / "run")
    for name in FORMATS:
        made(wrong, name)
    document = json.loads((tmp_path / "run" / "results.json").read_text())
    (row,) = document["rows"]
    units = {column["name"]: column["unit"] for column in document["columns"]}
    assert set(row) == set(units) and units["latency_p50_us"] == "us"
    assert row["max_abs_error"] is row["max_rel_error"] is None
    assert row["status"] == "wrong_output"
    assert not verify(tmp_path / "run", check_derived).findings


def test_a_log_of_histograms_has_each_round_with_its_samples(run: Run) -> None:
    pytest.importorskip("hdrh")
    from hdrh.histogram import HdrHistogram

    log, *tables = made(run, "hdr")
    lines = [line for line in log.read_text().splitlines() if line.startswith("Tag=")]
    assert [line.split(",")[0] for line in lines] == [f"Tag={c}" for c in CASES_OF_ROUNDS]
    histograms = [HdrHistogram.decode(line.split(",")[4]) for line in lines]
    assert [histogram.get_total_count() for histogram in histograms] == [5, 1, 2], (
        "no warm-up among them"
    )
    first = histograms[0]
    for percentile, latency_us in ((20, 10.0), (60, 30.0), (100, 1000.0)):
        assert first.get_value_at_percentile(percentile) == pytest.approx(latency_us * 1e3, 1e-3)
    assert {path.stem for path in tables} == {CASE.case_id, WAITED.case_id}
    whole = next(path for path in tables if path.stem == CASE.case_id).read_text()
    assert whole.split()[:4] == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
    ends = [line.split() for line in whole.splitlines() if " 1.0000" in line]
    assert int(ends[0][2]) == 6, "the rounds of a case together"


CASES_OF_ROUNDS = (CASE.case_id, CASE.case_id, WAITED.case_id)


def test_a_trace_has_runs_waits_and_what_came_between_at_their_times(run: Run) -> None:
    paths = {path.name: path for path in made(run, "trace")}
    assert len(paths) == 3
    first = _trace(paths[f"{CASE.case_id}.0.json.gz"])
    runs = [event for event in first["traceEvents"] if event.get("cat") == "run"]
    assert [event["name"] for event in runs] == ["warmup"] * 2 + ["measured"] * 5
    assert [event["ts"] for event in runs][:3] == [0.0, 9999.0, 19998.0]
    assert [event["dur"] for event in runs][2:] == LATENCIES_US
    (interference,) = [e for e in first["traceEvents"] if e.get("cat") == "interference"]
    assert (interference["ts"], interference["dur"]) == (19998.0, 60.0)
    assert interference["args"] == {"steal_ms": 4.0, "major_faults": 2}
    waited_events = _trace(paths[f"{WAITED.case_id}.0.json.gz"])["traceEvents"]
    waits = [(e["ph"], e["ts"]) for e in waited_events if e.get("cat") == "queue"]
    assert waits == [("b", 0.0), ("e", 0.0), ("b", 5.0), ("e", 13.0)]
    (pause,) = [event for event in waited_events if event.get("cat") == "gap"]
    assert (pause["ts"], pause["dur"]) == (10.0, 3.0)


def _trace(path: Path) -> dict[str, Any]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        trace: dict[str, Any] = json.load(file)
    return trace


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "run"
    with RunFolder.create(path, manifest_of((CASE,), rounds=1)) as folder:
        record(folder, CASE, 0, [10.0 + number / 7 for number in range(2000)])
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_replaces_a_link_and_never_follows_it(
    folder: Path, tmp_path: Path, name: str
) -> None:
    """A link in the place of its folder is refused."""
    files = made(read_run(folder), name)
    assert files and all(path.is_relative_to(folder) for path in files)
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious\n")
    for file in files:
        file.unlink()
        file.symlink_to(victim)
        file.with_name(f".{file.name}.{os.getpid()}").symlink_to(victim)
    assert main(["export", "-f", name, str(folder)]) == 0
    assert victim.read_bytes() == b"precious\n"
    assert all(file.is_file() and not file.is_symlink() for file in files)
    assert not list(folder.rglob(f".*.{os.getpid()}"))
    kind = {"hdr": "hgrm", "trace": "trace"}.get(name)
    if kind is not None:
        (folder / kind).rename(tmp_path / "outside")
        (folder / kind).symlink_to(tmp_path / "outside")
        code, _, errors = batch("export", "-f", name, str(folder))
        assert code == 2 and str(folder / kind) in errors


@pytest.mark.parametrize("name", FORMATS)
def test_a_disk_that_fills_up_leaves_the_export_before_and_no_part_of_the_new_one(
    folder: Path, name: str
) -> None:
    contents = {file: file.read_bytes() for file in made(read_run(folder), name)}
    files = set(folder.rglob("*"))
    with file_size_limit(200), pytest.raises(DiskError):
        made(read_run(folder), name)
    assert set(folder.rglob("*")) == files
    assert {file: file.read_bytes() for file in contents} == contents


WORDS = ("warmup", "measured", "first_seen")
ROW = st.tuples(
    st.integers(0, len(WORDS) - 1),
    st.integers(0, 2**31 - 1),
    st.one_of(st.integers(-(2**63) + 1, 2**63 - 1), st.integers(-20_000, 20_000)),
)


@given(st.lists(ROW, min_size=1, max_size=30))
def test_a_block_is_what_single_lines_would_be(rows: list[tuple[int, int, int]]) -> None:
    word, lane, time_ns = (np.array(column) for column in zip(*rows, strict=True))
    block = join_cells(
        [word_cells(WORDS, word), number_cells(lane.astype(np.int32)), number_cells(time_ns)]
    )
    expected = "".join(f"{WORDS[place]},{owner},{time}\n" for place, owner, time in rows)
    assert block.decode() == expected


def test_powers_of_ten_and_their_neighbours_have_all_digits() -> None:
    values = np.array([10**power + offset for power in range(19) for offset in (-1, 0, 1)])
    assert join_cells([number_cells(values)]).decode().split() == [
        str(value) for value in values.tolist()
    ]
