"""One run as a dataframe: the same names and types however it is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("pandas")

import pandas as pd
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from app.benchmark import load_results
from app.cases.case import Case
from app.cases.column import Row
from app.cases.errors import ResultsError
from app.columns.rows import Rows
from app.notebook import open as open_run
from app.run_folder.folder import RunFolder
from app.run_folder.table import table_of, tables, to_csv
from app.runs.exporting.tables import frame_of
from app.runs.reader import read_run
from tests.app.hostile import OF_FILES
from tests.app.run_folder.runs import manifest_of, record

WORDS = (
    *("NA", "N/A", "null", "None", "nan", "NaN", "#N/A", "inf", "1e5", "007", "1_000", "True"),
    *("@net", "=x", "'=x", "''@y", "+1", "-1", "a;b", 'say "x"', "two\nlines", "\r", " ", "ü"),
)
NAMES = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1)


def recorded(folder: Path, models: Sequence[str]) -> Path:
    """A run of these models, with an option and a host called as they are, and its table."""
    cases = [
        Case(name, "fake", axes={"batch": 2}, options={"note": name}, host=name) for name in models
    ]
    with RunFolder.create(folder, manifest_of(cases, rounds=1)) as run:
        for place, case in enumerate(cases):
            if place % 3:
                record(run, case, 0, [10.0 + place, 20.0], facts={"engine": case.model})
            else:
                record(run, case, 0, status="unsupported", reason=case.model)
    stored_run = read_run(folder)
    for name, content in tables(Rows().of(stored_run)):
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("named") / "run", [*WORDS, *OF_FILES])


def ways(folder: Path) -> dict[str, pd.DataFrame]:
    return {
        "text": load_results(str(folder)),
        "path": load_results(folder),
        "list": load_results([folder]),
        "file": load_results(folder / "results.csv"),
        "glob": load_results(f"{folder.parent}/*"),
        "glob of files": load_results(f"{folder.parent}/*/results.csv"),
        "full table": load_results(folder / "results.full.csv"),
        "glob of both": load_results(f"{folder.parent}/*/results*.csv"),
    }


def test_a_folder_its_table_and_an_opened_run_are_one_frame(run: Path) -> None:
    frame_opened = open_run(run).rows
    assert frame_opened["model"].notna().all()
    assert set(WORDS) <= set(frame_opened["model"])
    shared_columns = [name for name in frame_opened if name != "device"]
    for way, frame in ways(run).items():
        assert_frame_equal(frame[shared_columns], frame_opened[shared_columns], obj=way)


def test_what_is_empty_has_a_type(run: Path) -> None:
    types = load_results(run / "results.csv").dtypes.astype(str)
    assert set(types) == {"string", "Int64", "Float64", "boolean", "float64"} & set(types)
    assert types["valid"] == "boolean"
    assert types["reason"] == "string"
    assert types["baseline_case_id"] == "string", "which nothing fills"
    assert types["latency_p50_us"] == "float64"


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.lists(NAMES, min_size=1, max_size=5, unique=True))
@example(list(WORDS))
def test_no_name_is_lost_on_the_way(models: list[str]) -> None:
    rows: list[Row] = [{"case_id": str(place), "model": name} for place, name in enumerate(models)]
    _, read = table_of(to_csv(rows).decode())
    assert_frame_equal(frame_of(read), frame_of(rows))
    assert list(frame_of(read)["model"]) == models


def test_a_list_of_runs_is_read_in_its_order(run: Path, tmp_path: Path) -> None:
    other = recorded(tmp_path / "[other]", ["b", "a"])
    both = load_results([other, str(run)])
    assert list(both["model"])[:2] == ["b", "a"]
    assert len(both) == 2 + len(load_results(run))
    assert list(load_results(str(other))["model"]) == list(open_run(other).rows["model"])
    with pytest.raises(ResultsError):
        load_results([run, tmp_path / "none"])
    with pytest.raises(ResultsError):
        load_results([])


def test_a_column_of_ones_own_is_text(run: Path, tmp_path: Path) -> None:
    lines = (run / "results.csv").read_bytes().decode().split("\n", 1)
    (tmp_path / "own.csv").write_bytes(f"\ufeff{lines[0]},note\n{lines[1]}".encode())
    frame = load_results(tmp_path / "own.csv")
    assert "note" in frame and str(frame["note"].dtype) == "string"
    assert list(frame["model"]) == list(load_results(run)["model"])


def test_the_columns_of_dlmarks_notebook_are_there(tmp_path: Path) -> None:
    """Its lines: networks and devices by name, then the rows of the first device."""
    cases = [
        Case("alexnet", runtime, axes={"batch": 4}) for runtime in ("ort-cpu", "fake:1", "fake")
    ]
    with RunFolder.create(tmp_path / "run", manifest_of(cases, rounds=1)) as folder:
        for case in cases:
            device_mb = 900.0 if case.runtime == "fake:1" else None
            record(
                folder, case, 0, [2000.0] * 30, rss_peak_mb=300.0, device_memory_peak_mb=device_mb
            )
    frame = load_results(tmp_path / "run")
    assert list(frame.device) == ["ort-cpu", "1", "fake"]
    first = frame[frame.device == frame.device.unique()[0]]
    row = first[["model", "device", "batch_size", "throughput", "memory"]].iloc[0]
    assert list(row) == ["alexnet", "ort-cpu", 4, pytest.approx(2000.0), 300.0]
    assert list(frame.memory) == [300.0, 900.0, 300.0]
    assert frame.accuracy.isna().all()


def test_a_table_without_these_columns_has_them_empty(run: Path, tmp_path: Path) -> None:
    table = tmp_path / "few.csv"
    table.write_text("case_id,model,runtime,status\n1,mlp,ort-cpu,ok\n")
    frame = load_results(table)
    assert list(frame.device) == ["ort-cpu"]
    assert frame.throughput.isna().all() and frame.memory.isna().all()
