"""A follower's view of folders that the real writer writes, whole, damaged and vanishing."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest

from app.analysis.columns.rows import Rows
from app.analysis.columns.tables import write_tables
from app.cases.case import Case
from app.cases.round import RECORD
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.folder import RunFolder
from app.run_folder.journal import line_text
from app.run_folder.live_status import Live, LiveFile
from app.runs.following.reader import RunReader
from app.runs.following.samples import SampleTail
from app.runs.following.state import RunState
from app.runs.reader import read_run
from app.stats.quantiles import Histogram, order_statistic
from exporters.diagnostics import codes
from tests.app.gui.runs import new_run, record_round, records, sample_path

CASES = (Case("cnn_tiny", "ort-cpu", axes={"batch": 1}), Case("cnn_tiny", "fake"))


def _poll_state(reader: RunReader) -> RunState:
    """The new state, where there must be one."""
    state = reader.poll()
    assert state is not None
    return state


def _wait_for_summaries(reader: RunReader) -> RunState:
    """Poll until every summary is there."""
    state = _poll_state(reader)
    deadline = time.monotonic() + 30
    while reader.is_moving and time.monotonic() < deadline:
        time.sleep(0.02)
        state = reader.poll() or state
    return state


Close = Callable[[RunReader], RunReader]
"""Has a reader closed after the test."""


@pytest.fixture
def close() -> Iterator[Close]:
    with ExitStack() as stack:
        yield lambda reader: stack.enter_context(closing(reader))


"""Has a reader closed after the test."""


def test_a_finished_run_has_its_summaries_from_raw_samples(tmp_path: Path, close: Close) -> None:
    rng = np.random.default_rng(1)
    latency = rng.normal(50.0, 2.0, 500).round(3)
    with new_run(tmp_path / "run", CASES) as folder:
        record_round(folder, CASES[0], 0, records([900.0, *latency], warmup=1))
        record_round(folder, CASES[1], 0, records([]), status="crashed")
    state = _wait_for_summaries(close(RunReader(tmp_path / "run")))
    good, bad = state.series
    assert good.status == "ok"
    assert good.counts.sum() == 500
    assert good.summary is not None
    assert good.summary.value_us("p99") == pytest.approx(order_statistic(np.sort(latency), 0.99))
    assert len(good.rounds[0]) == 501
    assert (bad.status, bad.row["reason"]) == ("crashed", "scripted")
    rows = Rows().of(read_run(tmp_path / "run"))
    with RunFolder.reopen(tmp_path / "run") as folder:
        write_tables(folder, rows)
    row = _wait_for_summaries(close(RunReader(tmp_path / "run"))).series[0].row
    assert {name: row[name] for name in rows[0]} == rows[0], "as results.csv has it"
    assert not state.alive


def test_a_round_in_flight_is_seen_before_it_is_recorded(tmp_path: Path, close: Close) -> None:
    with new_run(tmp_path / "run", CASES, rounds=2) as folder:
        record_round(folder, CASES[0], 0, records([50.0] * 10))
        live = LiveFile(folder)
        now = Live("measuring", case_id=CASES[0].case_id, round=1, phase="measure", iterations=7)
        live.write(now, always=True)
        sample_path(folder, CASES[0], 1).write_bytes(records([50.0] * 7).tobytes())
        reader = close(RunReader(tmp_path / "run"))
        state = _poll_state(reader)
        first, second = state.series
        assert state.alive
        assert (first.status, second.status) == ("measuring", "waiting")
        assert first.counts.sum() == 17
        assert first.summary is None
        assert state.samples_in_flight == 17
        assert second.row["reason"] is None, "its turn is still to come"
        with sample_path(folder, CASES[0], 1).open("ab") as file:
            file.write(records([50.0] * 3).tobytes())
        assert _poll_state(reader).series[0].counts.sum() == 20


def test_a_case_keeps_how_it_ended_while_its_operators_are_timed(
    tmp_path: Path, close: Close
) -> None:
    """Its figure once vanished, and a wrong output was measuring again. Of a run that was
    interrupted, what was not measured says so."""
    folder = new_run(tmp_path / "run", CASES)
    reader = close(RunReader(tmp_path / "run"))
    assert [series.status for series in _poll_state(reader).series] == ["waiting", "waiting"]
    record_round(folder, CASES[1], 0, records([50.0] * 10), status="wrong_output")
    now = Live("measuring", case_id=CASES[1].case_id, phase="operators")
    LiveFile(folder).write(now, always=True)
    state = _poll_state(reader)
    assert state.alive
    assert [entry.status for entry in state.series] == ["waiting", "wrong_output"]
    folder.close()
    state = _poll_state(reader)
    assert [series.status for series in state.series] == ["not_run", "wrong_output"]
    assert "resume" in state.series[0].row["reason"]


def test_a_folder_that_vanishes_is_one_sentence_and_what_was_seen_stays(
    tmp_path: Path, close: Close
) -> None:
    with new_run(tmp_path / "run", CASES) as folder:
        record_round(folder, CASES[0], 0, records([50.0] * 10))
    reader = close(RunReader(tmp_path / "run"))
    reader.poll()
    (tmp_path / "run").rename(tmp_path / "away")
    assert _poll_state(reader).problem
    (tmp_path / "away").rename(tmp_path / "run")
    assert _poll_state(reader).problem is None, "it came back"
    shutil.rmtree(tmp_path / "run")
    state = _poll_state(reader)
    assert state.problem is not None and "is gone" in state.problem.cause
    assert state.series[0].counts.sum() == 10
    assert reader.poll() is None


def test_a_damaged_journal_line_is_told_and_the_rest_read(tmp_path: Path, close: Close) -> None:
    with new_run(tmp_path / "run", CASES):
        pass
    journal = next((tmp_path / "run" / "journal").glob("*.jsonl"))
    journal.write_bytes(journal.read_bytes() + line_text({"kind": "round"}) + b"\n")
    reader = close(RunReader(tmp_path / "run"))
    state = _poll_state(reader)
    assert state.problem is None
    (damage,) = state.damaged
    assert "is damaged (RoundResult has no 'case_id')" in damage.cause
    assert reader.poll() is None, "it stays told"
    with journal.open("ab") as file:
        file.write(b"5\n")
    assert len(_poll_state(reader).damaged) == 2


def test_rounds_that_are_still_to_come_are_no_warning_until_the_run_has_ended(
    tmp_path: Path, close: Close
) -> None:
    with new_run(tmp_path / "run", CASES[:1], rounds=2) as folder:
        record_round(folder, CASES[0], 0, records([50.0] * 400))
        reader = close(RunReader(tmp_path / "run"))
        state = _poll_state(reader)
        deadline = time.monotonic() + 30
        while state.series[0].summary is None and time.monotonic() < deadline:
            time.sleep(0.02)
            state = reader.poll() or state
        assert state.alive and state.series[0].row["rounds"] == 1
        assert not state.series[0].row["warnings"]
    final_state = _wait_for_summaries(reader)
    assert "rounds_missing" in codes(diagnostics_of(final_state.series[0].row))


def test_only_what_was_added_is_read_and_a_torn_record_waits(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    data = records([10.0, 20.0, 30.0]).tobytes()
    path.write_bytes(data[: 2 * RECORD.itemsize + 5])
    tail = SampleTail(path)
    assert tail.poll()
    assert tail.records == 2
    path.write_bytes(data)
    assert tail.poll()
    assert not tail.poll()
    assert tail.records == 3
    np.testing.assert_array_equal(tail.counts, _bins([10.0, 20.0, 30.0]))
    path.unlink()
    again = records([70.0] * 6)
    again["started_ns"] += 1_000_000
    again["finished_ns"] += 1_000_000
    path.write_bytes(again.tobytes())
    tail.poll()
    np.testing.assert_array_equal(tail.counts, _bins([70.0] * 6), "a round is measured again")


def _bins(latencies_us: Sequence[float]) -> np.ndarray:
    histogram = Histogram()
    histogram.add((np.asarray(latencies_us) * 1e3).astype(np.int64))
    return histogram.counts
