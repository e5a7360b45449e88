"""The programming interface: a suite on a runtime, its profiles, and rows of many runs."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from app.cases.errors import PlanError, ResultsError
from app.cli.benchmark import BenchmarkResult, CellBasedBenchmark, LayerBasedBenchmark, load_results
from app.runs.reader import read_run
from runtimes.registry import load
from tests.checkout import ROOT

pytestmark = pytest.mark.usefixtures("brief")

V80 = ROOT / "runtimes/fpga/cards/v80.toml"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory, exported: Path) -> BenchmarkResult:
    """Two layers on ONNX Runtime, measured for real."""
    folder = tmp_path_factory.mktemp("layers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHLAP_CACHE", str(exported))
        benchmark = LayerBasedBenchmark(
            num_inference=50, batch_size=2, models=["dense_128_32", "reshape_1d"]
        )
        return benchmark.run_on("ort-cpu", folder / "run")


def test_a_profile_has_neurios_fields(result: BenchmarkResult) -> None:
    profile = next(p for p in result.profiles if p["model"]["model_name"] == "dense_128_32")
    assert profile["model"]["inputs"] == {"x": [2, 128]}
    assert profile["model"]["outputs"] == {"y": [2, 32]}
    assert profile["model"]["parameters"] == 128 * 32 + 32
    assert profile["model"]["macc"] == 128 * 32
    assert profile["runtime"]["name"] == "ort-cpu"
    assert profile["inference"]["batch_size"] == 2
    assert 0 < profile["inference"]["model_load_time"] < 60
    assert profile["inference"]["clock"] == "wall"
    assert profile["status"] == "ok"


def test_listed_times_are_measured_ones_in_seconds(result: BenchmarkResult) -> None:
    run = read_run(result.path)
    for profile, case in zip(result.profiles, run.manifest.cases, strict=True):
        times = profile["inference"]["inference_time"]
        durations_ns = {
            int(latency)
            for entry in run.rounds_of(case)
            for latency in run.samples_of(entry).latency_ns
        }
        assert len(times) == 50
        assert {round(seconds * 1e9) for seconds in times} <= durations_ns


def test_frame_csv_and_json_tell_the_same(result: BenchmarkResult, tmp_path: Path) -> None:
    frame = result.to_frame()
    assert list(frame.model_name) == [p["model"]["model_name"] for p in result.profiles]
    assert json.loads(result.to_json(tmp_path / "a.json")) == list(result.profiles)
    assert json.loads((tmp_path / "a.json").read_text()) == list(result.profiles)
    rows = list(csv.DictReader(result.to_csv(tmp_path / "a.csv").splitlines()))
    assert (tmp_path / "a.csv").read_text() == result.to_csv()
    assert json.loads(rows[0]["inference_time"]) == list(frame.inference_time[0])


def test_a_runtime_object_names_its_runtime_and_a_refusal_is_a_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exported: Path
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(exported))
    fake = load("fake")
    (profile,) = CellBasedBenchmark(models=["skip_add_2"]).run_on(fake, tmp_path / "run").profiles
    assert profile["runtime"]["name"] == "fake"
    with pytest.raises(PlanError, match="no runtime called 'ort-cqu'"):
        CellBasedBenchmark().run_on("ort-cqu", tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_model_that_the_runtime_refuses_has_a_profile_without_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exported: Path
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(exported))
    card = tmp_path / "small.toml"
    text = V80.read_text("utf-8")
    assert "tiles_per_core = " in text
    card.write_text(re.sub(r"tiles_per_core = \d+", "tiles_per_core = 1", text), "utf-8")
    benchmark = CellBasedBenchmark(models=["skip_add_2"])
    (profile,) = benchmark.run_on(f"fpga:{card}", tmp_path / "run").profiles
    assert profile["status"] == "unsupported"
    assert "tiles" in profile["reason"]
    assert profile["inference"]["inference_time"] == []
    assert profile["inference"]["clock"] is None


def test_a_model_of_another_suite_is_refused() -> None:
    with pytest.raises(PlanError, match=r"layers has no model 'dense_128_23'.*'dense_128_32'"):
        LayerBasedBenchmark(models=["dense_128_23"])
    with pytest.raises(PlanError, match="preset 'quik' is not a preset"):
        LayerBasedBenchmark(profile="quik").run_on("ort-cpu")
    with pytest.raises(PlanError, match="sdk00"):
        LayerBasedBenchmark().run_on("fpga:v80@sdk00")


def test_what_holds_no_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="nothing matches"):
        load_results(str(tmp_path / "none-*"))
    with pytest.raises(ResultsError, match="no run folder"):
        load_results(str(tmp_path))
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ResultsError, match="can't be read as results"):
        load_results(str(tmp_path / "empty.csv"))


def test_foreign_files_in_a_glob_are_passed_over_with_one_warning(
    result: BenchmarkResult, tmp_path: Path
) -> None:
    (tmp_path / "results.csv").write_bytes((result.path / "results.full.csv").read_bytes())
    (tmp_path / "shopping.csv").write_text("what,how many\nmilk,2\n")
    (tmp_path / "notes.txt").write_bytes(b"\xff\x00 no table")
    (tmp_path / "folder").mkdir()
    with pytest.warns(
        UserWarning, match=r"3 of the 4 that match .* are passed over: "
    ) as warning_records:
        frame = load_results(str(tmp_path / "*"))
    assert len(warning_records) == 1
    assert list(frame.model) == ["dense_128_32", "reshape_1d"][: len(frame)]
