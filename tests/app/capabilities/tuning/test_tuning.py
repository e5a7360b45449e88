"""A search over options read from its run folder: it goes on where it was, and says what it is."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from app.capabilities.tuning import answer
from app.capabilities.tuning.answer import (
    Int8Peak,
    TuneAnswer,
    peak_of_host,
    with_peak,
)
from app.capabilities.tuning.present import ANSWERS, LADDER, TUNED, files_of, found_steps
from app.capabilities.tuning.search import Tuned, tunings
from app.cases.case import Case
from app.cases.status import Status
from app.plan.expand import expand
from app.plan.plan_files import load_plan
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from app.stats.option_search.ablation import FINAL
from tests.app.analysis.columns.filled import MODEL
from tests.app.capabilities.tuning.tuned_runs import GRID, found_in, latency_us, new_tune, play
from tests.app.run_folder.runs import record

WITH_INT8 = {**GRID, "precisions": ("fp32", "int8")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, int]:
    """A search that is over, and how many rounds it took."""
    with new_tune(tmp_path_factory.mktemp("tuned") / "run", "p50") as folder:
        return folder, play(folder)


def planned_case(tmp_path: Path, folder: RunFolder) -> Case:
    """The case of the plan that the search has written."""
    files = dict(files_of(read_run(folder.path), found_in(folder)))
    (tmp_path / TUNED).write_bytes(files[TUNED])
    (case,) = expand(load_plan(tmp_path / TUNED))
    return case


def test_the_ladder_leads_from_the_default_to_the_best(
    tmp_path: Path, whole: tuple[RunFolder, int]
) -> None:
    folder, _ = whole
    run, results = read_run(folder.path), found_in(folder)
    ((case_search, answer),) = results.searches
    assert answer.over
    assert answer.shown
    assert case_search.choice.options == {}, "100 us is the script's own default"
    assert [rung.label for rung in answer.rungs][1:] == ["latency_us=100.0"]
    default, best = answer.rungs
    assert default.value == pytest.approx(200.0, rel=0.02)
    assert best.value == pytest.approx(100.0, rel=0.02)
    assert best.total is not None
    assert best.total.verdict == "better"
    assert best.total.low is not None
    assert best.total.high is not None
    assert best.total.low < 2.0 < best.total.high
    assert best.error == 1e-6
    assert "times shorter than the default's" in answer.sentences[0]
    assert planned_case(tmp_path, folder).case_id == case_search.choice.case_id
    files = dict(files_of(run, results))
    rows = list(csv.DictReader(io.StringIO(files[LADDER].decode())))
    assert [row["verdict"] for row in rows] == ["", "better"]
    assert float(rows[1]["gain"]) == pytest.approx(2.0, rel=0.02)
    (tmp_path / ANSWERS).write_bytes(files[ANSWERS])
    assert [*found_steps(tmp_path / ANSWERS, run).values()] == [answer]
    assert json.loads(files[ANSWERS])["answers"][0]["shown"] is True


def test_one_that_was_stopped_goes_on_where_it_was(
    tmp_path: Path, whole: tuple[RunFolder, int]
) -> None:
    whole_folder, rounds = whole
    with new_tune(tmp_path / "parts", "p50") as folder:
        rounds_written = play(folder, most_rounds=17)
        ((_, answer),) = found_in(folder).searches
        assert not answer.over
        assert "was not searched to the end: resume the run" in answer.sentences[0]
        rounds_written += play(folder, most_rounds=rounds - 25)
        ((_, answer),) = found_in(folder).searches
        assert "the final rounds are not all there: resume the run" in answer.sentences
        rounds_written += play(folder)
        assert found_in(folder).searches[0][1] == found_in(whole_folder).searches[0][1]
        assert rounds_written == rounds, "no round is measured twice"
        assert play(folder) == 0, "a search that is over asks for nothing"


def test_one_that_is_not_over_says_the_best_so_far(tmp_path: Path) -> None:
    for rounds in (0, 6, 15):
        with new_tune(tmp_path / f"run{rounds}", "p50") as folder:
            play(folder, most_rounds=rounds)
            ((case_search, answer),) = found_in(folder).searches
            planned = planned_case(tmp_path, folder)
        assert not answer.over and case_search.following is not None
        base, lead_us = case_search.space.base, latency_us(case_search.lead)
        assert planned.options == base.options, "the default, until another is shown"
        if case_search.lead_cost is not None:
            assert case_search.lead_cost == pytest.approx(lead_us, rel=0.05)
        if case_search.lead != base:
            assert case_search.lead_gain == pytest.approx(200.0 / lead_us, rel=0.05)


def test_once_hurried_it_never_goes_back_to_choosing(tmp_path: Path) -> None:
    with new_tune(tmp_path / "run", "p50", rounds=3) as folder:
        play(folder, most_rounds=30)
        run = read_run(folder.path)
        (search,) = tunings(run)
        final_search = search.of(run, hurry=True)
        assert final_search.final
        assert final_search.following is not None
        assert final_search.following[1] >= FINAL
        record(folder, search.space.base, FINAL, [200.0] * 9)
        again = read_run(folder.path)
        (search,) = tunings(again)
        assert search.of(again).final


@pytest.mark.parametrize(("allowed", "winner"), [(0.02, "fp32"), (0.05, "int8")])
def test_a_precision_wins_only_if_its_error_is_allowed(
    tmp_path: Path, allowed: float, winner: str
) -> None:
    def cost_us(case: Case) -> float:
        return latency_us(case) * (0.25 if case.precision == "int8" else 1.0)

    def error(case: Case) -> float:
        return 0.03 if case.precision == "int8" else 1e-6

    grid = {**WITH_INT8, "threads": (1,)}
    with new_tune(tmp_path / "run", "p50", grid, max_error=allowed, rounds=3) as folder:
        play(folder, cost_us, error=error)
        ((case_search, answer),) = found_in(folder).searches
    assert case_search.choice.precision == winner
    if winner == "int8":
        assert (answer.rungs[1].label, answer.rungs[1].error) == ("int8", 0.03)
    else:
        assert any("off by 0.03, and 0.02 is allowed" in line for line in answer.sentences)


@pytest.mark.parametrize(("tune", "batch"), [("throughput", 32), ("throughput@p99=2500us", 16)])
def test_a_throughput_grows_with_the_batch_while_it_keeps_its_latency(
    tmp_path: Path, tune: str, batch: int
) -> None:
    """A run takes 0.4 ms and 0.1 ms for each input: at a batch of 16 it takes 2 ms, at 32 3.6."""
    grid = {**GRID, "threads": (1,), "options": {"fake.latency_us": (100,), "fake.sessions": (1,)}}
    with new_tune(tmp_path / "run", tune, grid) as folder:
        play(folder, lambda case: 400.0 + 100.0 * case.axes["batch"])
        ((case_search, answer),) = found_in(folder).searches
    assert case_search.choice.axes == {"batch": batch}
    best = answer.rungs[-1]
    taken_us = 400.0 + 100.0 * batch
    assert best.value == pytest.approx(batch * 1e6 / taken_us, rel=0.02)
    if batch < 32:
        assert best.kept_us == pytest.approx(taken_us, rel=0.02)
        assert any("does not keep p99=2.5ms" in sentence for sentence in answer.sentences)


def test_where_nothing_helps_the_default_is_what_is_told(tmp_path: Path) -> None:
    with new_tune(tmp_path / "run", "p50") as folder:
        play(folder, lambda case: 100.0)
        ((case_search, answer),) = found_in(folder).searches
        assert planned_case(tmp_path, folder) == case_search.choice
    assert not answer.shown
    assert case_search.choice.case_id == case_search.space.base.case_id
    assert "better than the default" in answer.sentences[0]


def answer_where(
    path: Path, fails: Callable[[Case], bool], status: Status
) -> tuple[Tuned, TuneAnswer]:
    """Of a search whose cases end with this status where they fail."""
    with new_tune(path, "p50", rounds=3) as folder:
        play(folder, status=lambda case: status if fails(case) else "ok")
        (found,) = found_in(folder).searches
    return found


def test_what_can_not_run_is_told_with_its_reason(tmp_path: Path) -> None:
    case_search, answer = answer_where(tmp_path / "all", lambda case: True, "run_failed")
    assert case_search.following is None
    assert not answer.shown and not answer.rungs
    assert "nothing that was tried may win" in answer.sentences[0]
    assert any("run failed: the engine said no" in line for line in answer.sentences)
    case_search, answer = answer_where(
        tmp_path / "default", lambda case: case.options.get("latency_us") == 200.0, "run_failed"
    )
    assert case_search.choice.options == {}, "the best that runs"
    assert answer.rungs[0].value is None
    assert answer.rungs[-1].value == pytest.approx(100.0, rel=0.02)
    assert "the default has no figure (run failed: the engine said no" in answer.sentences[0]


PEAK = Int8Peak(2e11, "somebody")


def test_the_work_of_a_run_over_its_time_is_a_share_of_the_peak(
    tmp_path: Path, whole: tuple[RunFolder, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_tune(tmp_path / "run", "p50", WITH_INT8) as folder:
        play(folder)
    run, results = read_run(folder.path), found_in(folder)
    monkeypatch.setattr("exporters.install_layout.command", lambda *_: ["false"])
    assert peak_of_host(tmp_path) is None
    assert with_peak(results, run, tmp_path) == results, "no engine measures it"
    monkeypatch.setattr(answer, "peak_of_host", lambda _: PEAK)
    *_, sentence = with_peak(results, run, tmp_path).searches[0][1].sentences
    # 100 us is the fastest that the script has; a run has MODEL's MACs.
    assert MODEL.macs is not None
    share = MODEL.macs / 100e-6 / PEAK.macs_per_s
    actual = float(sentence.split(" % of the int8 peak")[0].split()[-1]) / 100
    assert actual == pytest.approx(share, rel=0.05)
    without_int8 = found_in(whole[0])
    assert with_peak(without_int8, read_run(whole[0].path), tmp_path) == without_int8


def test_the_peak_is_measured_by_an_engine_and_kept(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    peak = peak_of_host(tmp_path)
    assert peak is not None
    assert peak.macs_per_s > 0 and "MatMulInteger" in peak.how
    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text())["macs_per_s"] == peak.macs_per_s
