"""A run in a notebook and in a program: dataframes, verdicts, figures, results."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from app.analysis.columns.rows import Rows
from app.analysis.columns.tables import table_of, tables
from app.cases.case import Case
from app.cases.column import Row
from app.cases.errors import PlanError, ResultsError
from app.cli.benchmark import load_results
from app.cli.notebook import open as open_run
from app.run_folder.folder import RunFolder
from app.run_folder.table import to_csv
from app.runs.exporting.tables import frame_of
from app.runs.reader import read_run
from tests.app.hostile import OF_FILES
from tests.app.run_folder.runs import manifest_of, record

pytest.importorskip("pandas")


FAST, SLOW = (Case("net.onnx", "fake", axes={"batch": n}) for n in (1, 8))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _measured(tmp_path_factory.mktemp("opened") / "run")


def _measured(path: Path) -> Path:
    with RunFolder.create(path, manifest_of((FAST, SLOW), rounds=3)) as folder:
        for number in range(3):
            record(folder, FAST, number, [10.0, 20.0, 30.0], warmup=2)
            record(folder, SLOW, number, [100.0, 200.0])
    return path


def test_rows_and_samples_are_dataframes_with_their_own_types(path: Path) -> None:
    run = open_run(path)
    assert run.rows.set_index("case_id").loc[FAST.case_id, "iterations"] == 9
    samples = run.samples(FAST.case_id)
    assert samples["latency_ns"].tolist() == [10_000, 20_000, 30_000] * 3
    assert len(run.samples(FAST.case_id, warmup=True)) == 15
    assert set(run.samples()["case_id"]) == {FAST.case_id, SLOW.case_id}
    assert "net.onnx" in run._repr_html_()


def test_two_runs_are_compared_by_their_verdicts(path: Path, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=open_run(path).run.manifest.run_id):
        open_run(path).compare(shutil.copytree(path, tmp_path / "copy"))
    verdicts = open_run(path).compare(_measured(tmp_path / "other"))
    assert set(verdicts["percentile"]) <= {"p50", "p99"}
    assert len(verdicts) >= 2
    assert set(verdicts["ratio"]) == {1.0}
    assert not set(verdicts["verdict"]) & {"faster", "slower"}


def test_a_figure_is_a_picture_in_a_notebook_and_a_file(path: Path, tmp_path: Path) -> None:
    figure = open_run(path).latency()
    root = ElementTree.fromstring(figure._repr_svg_())
    titles = list(root.iter("{http://www.w3.org/2000/svg}title"))
    assert len(titles) == len(figure.figure.marks)
    saved_path = figure.save(tmp_path / "latency.svg")
    assert saved_path.read_text("utf-8") == figure._repr_svg_()
    with pytest.raises(PlanError):
        figure.save(tmp_path / "latency.png")
    assert not (tmp_path / "latency.png").exists(), "no SVG under another name"


def test_what_is_not_there_is_said(path: Path) -> None:
    run = open_run(path)
    with pytest.raises(ResultsError, match="no case was measured at two rates"):
        run.load()
    with pytest.raises(ResultsError, match="there are not two models on two runtimes"):
        run.ratios()
    for draw in (run.latency, run.samples):
        with pytest.raises(ResultsError, match="has no case 'no such'"):
            draw("no such")
    with pytest.raises(PlanError, match="band"):
        run.compare(path, band=float("nan"))


def test_columns_have_their_types_whatever_a_run_fills(path: Path) -> None:
    types = {name: str(kind) for name, kind in open_run(path).rows.dtypes.items()}
    assert types["latency_p99_us"] == types["accuracy_top1"] == "float64", "filled and not"
    assert types["iterations"] == types["weight_tiles_used"] == "Int64"
    assert types["valid"] == "boolean"
    assert types["model"] == types["reason"] == "string"
    with RunFolder.create(path.with_name("empty"), manifest_of((FAST,))):
        pass
    none, some = open_run(path.with_name("empty")).samples(), open_run(path).samples()
    assert none.empty
    assert (none.dtypes == some.dtypes).all()


def test_what_is_damaged_is_warned_of_and_the_rest_is_there(path: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(path, tmp_path / "run"))
    (journal,) = (copy / "journal").iterdir()
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([b"no json\n", *lines[1:]]))
    with pytest.warns(UserWarning, match="line 1 is damaged"):
        run = open_run(copy)
    assert run.rows.set_index("case_id").loc[FAST.case_id, "rounds"] == 2


pytest.importorskip("pandas")


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
        "list": load_results([folder]),
        "file": load_results(folder / "results.csv"),
        "glob of both": load_results(f"{folder.parent}/*/results*.csv"),
    }


def test_a_folder_its_table_and_an_opened_run_are_one_frame(run: Path) -> None:
    frame_opened = open_run(run).rows
    assert frame_opened["model"].notna().all()
    assert set(WORDS) <= set(frame_opened["model"])
    shared_columns = [name for name in frame_opened if name != "device"]
    for way, frame in ways(run).items():
        assert_frame_equal(frame[shared_columns], frame_opened[shared_columns], obj=way)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.lists(NAMES, min_size=1, max_size=5, unique=True))
@example(list(WORDS))
def test_no_name_is_lost_on_the_way(models: list[str]) -> None:
    rows: list[Row] = [{"case_id": str(place), "model": name} for place, name in enumerate(models)]
    _, read = table_of(to_csv(rows, ("case_id", "model")).decode())
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
