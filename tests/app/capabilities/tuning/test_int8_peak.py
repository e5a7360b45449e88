"""How far a search ends from the processor's int8 peak: a real peak, and arithmetic on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.capabilities.tuning import answer
from app.capabilities.tuning.answer import (
    Int8Peak,
    TuneResults,
    peak_of_host,
    tune_results,
    with_peak,
)
from app.runs.reader import read_run
from tests.app.capabilities.tuning.tuned_runs import GRID, new_tune, play
from tests.app.columns.filled import MODEL

PEAK = Int8Peak(2e11, "somebody")
WITH_INT8 = {**GRID, "precisions": ("fp32", "int8")}


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search among fp32 and int8 that is over."""
    path = tmp_path_factory.mktemp("tuned") / "run"
    with new_tune(path, "p50", WITH_INT8) as folder:
        play(folder)
    return path


def found_with(path: Path, kept_in: Path) -> tuple[TuneResults, TuneResults]:
    """What a folder's search came to, before and after the peak is told."""
    run = read_run(path)
    results = tune_results(run)
    assert results is not None
    return results, with_peak(results, run, kept_in)


def test_the_work_of_a_run_over_its_time_is_a_share_of_the_peak(
    searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer, "peak_of_host", lambda _: PEAK)
    plain_results, peak_results = found_with(searched, tmp_path)
    assert peak_results.searches[0][1].sentences[:-1] == plain_results.searches[0][1].sentences
    sentence = peak_results.searches[0][1].sentences[-1]
    assert "of the int8 peak, 200 GMAC/s by somebody" in sentence
    assert " in its p50: " in sentence
    # 100 us is the fastest that the script has; a run has MODEL's MACs.
    assert MODEL.macs is not None
    share = MODEL.macs / 100e-6 / PEAK.macs_per_s
    actual = float(sentence.split(" % of the int8 peak")[0].split()[-1]) / 100
    assert actual == pytest.approx(share, rel=0.05)


def test_a_search_without_int8_has_no_such_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer, "peak_of_host", lambda _: PEAK)
    with new_tune(tmp_path / "run", "p50") as folder:
        play(folder)
    plain_results, peak_results = found_with(tmp_path / "run", tmp_path)
    assert peak_results == plain_results


def test_without_an_engine_that_measures_it_nothing_is_said(
    searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exporters.install_layout.command", lambda *_: ["false"])
    assert peak_of_host(tmp_path) is None
    plain_results, peak_results = found_with(searched, tmp_path)
    assert peak_results == plain_results


def test_the_peak_is_measured_by_an_engine_and_kept(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    peak = peak_of_host(tmp_path)
    assert peak is not None
    assert peak.macs_per_s > 0 and "MatMulInteger" in peak.how
    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text())["macs_per_s"] == peak.macs_per_s
