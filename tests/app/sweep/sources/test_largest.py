"""The search for the largest batch: what is tried next, and real searches to their end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from app.cases.case import Case
from app.cases.status import Status
from app.sweep.engine import Engine
from app.sweep.events import RoundFinished
from app.sweep.rounds import Schedule
from app.sweep.sources.largest import MOST, LargestBatch, largest_fit, next_batch
from exporters.types import Reference, load_reference, repeat_reference, save_reference
from tests.app.sweep.sweeps import SHORT, drive, write_add_graph
from tests.app.sweep.wide_graph import write_wide_graph

MIB = 1 << 20


def search(limit: int, first: int = 1) -> tuple[list[int], int]:
    """The batches tried where `limit` is the largest that fits, and what was found."""
    tried: dict[int, Status] = {}
    while (batch := next_batch(tried, first)) is not None:
        assert batch not in tried, "no batch is tried twice"
        tried[batch] = "ok" if batch <= limit else "out_of_memory"
    return list(tried), largest_fit(tried)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 31, 32])
def test_small_limits_are_found_exactly(limit: int) -> None:
    assert search(limit)[1] == limit


@pytest.mark.parametrize("limit", [33, 100, 1000, 1023, 1024, 40_000])
def test_large_limits_are_found_within_a_32nd(limit: int) -> None:
    tried, found = search(limit)
    assert limit * 31 / 32 - 1 <= found <= limit
    assert len(tried) <= 2 * limit.bit_length() + 2, "doubling and bisection, no walk"


def test_it_doubles_before_it_bisects() -> None:
    assert search(5)[0] == [1, 2, 4, 8, 6, 5]


def test_a_first_try_that_is_too_large_is_gone_below() -> None:
    assert search(5, first=64)[1] == 5
    assert search(0)[1] == 0


def test_the_search_has_an_upper_end() -> None:
    assert search(10**9)[1] == MOST


@pytest.mark.parametrize("status", ["crashed", "timeout", "wrong_output", "unsupported"])
def test_another_failure_is_no_lack_of_memory_and_ends_the_search(status: Status) -> None:
    assert next_batch({1: "ok", 2: status}) is None


def test_a_repeated_reference_has_its_entries_in_turn(tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    stored, larger = tmp_path / "small.npz", tmp_path / "large.npz"
    save_reference(str(stored), Reference({"x": x}, {"y": x.T}))
    repeat_reference(str(stored), str(larger), {"input:x": 0, "output:y": 1}, 7)
    found = load_reference(str(larger))
    assert np.array_equal(found.inputs["x"], np.concatenate([x, x, x[:1]]))
    assert np.array_equal(found.outputs["y"], np.concatenate([x, x, x[:1]]).T)
    assert larger.stat().st_size < 2 * stored.stat().st_size + 1024


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "run" / "samples"
    folder.mkdir(parents=True)
    return folder


def schedule(case: Case, samples: Path, limit_mib: int = 0) -> Schedule:
    return Schedule([case], 1, SHORT, 60.0, 0, samples, limit_mib * MIB)


def run_search(
    case: Case, samples: Path, limit_mib: int, done: Mapping[str, Status] | None = None
) -> tuple[dict[int, RoundFinished], LargestBatch]:
    source = LargestBatch(schedule(case, samples, limit_mib), done or {})
    with Engine(source) as engine:
        heard = drive(engine)
    found = {
        source.case(e.result.case_id).axes.get("batch", 0): e
        for e in heard.events
        if isinstance(e, RoundFinished)
    }
    return found, source


def test_a_real_search_ends_where_the_limit_is(tmp_path: Path, samples: Path) -> None:
    path = write_wide_graph(tmp_path / "wide.onnx")
    case = Case(model=str(path), runtime="ort-cpu", axes={"batch": 1})
    found, _ = run_search(case, samples, limit_mib=300)
    statuses = {batch: event.result.status for batch, event in found.items()}
    assert set(statuses.values()) == {"ok", "out_of_memory"}
    largest = max(batch for batch, status in statuses.items() if status == "ok")
    smallest = min(batch for batch, status in statuses.items() if status == "out_of_memory")
    assert largest < smallest <= largest + max(1, largest // 32)
    # Between one and three MiB an entry, over an engine that takes 60 MiB or more itself.
    assert 50 <= largest <= 240
    for event in found.values():
        if event.result.status == "ok":
            assert event.result.check is not None
            assert event.result.check.output_ok
            assert (event.result.rss_peak_mb or 0) <= 300

    done = {event.result.case_id: event.result.status for event in found.values()}
    again, source = run_search(case, samples, 300, done)
    assert not again, "a resumed search that is over tries nothing"
    assert source.exports_left == 0

    del done[found[largest].result.case_id]
    again, _ = run_search(case, samples, 300, done)
    assert largest in again, "a resumed search tries what it lacks"
    assert 1 not in again


def test_a_fixed_batch_cannot_be_searched(tmp_path: Path, samples: Path) -> None:
    path = write_add_graph(tmp_path / "fixed.onnx")
    found, _ = run_search(Case(model=str(path), runtime="ort-cpu"), samples, 0)
    (event,) = found.values()
    assert event.result.status == "unsupported"
    assert "no open batch axis" in event.result.reason


def test_a_runtime_that_crashes_ends_the_search_there(tmp_path: Path, samples: Path) -> None:
    path = write_add_graph(tmp_path / "add.onnx", ("batch", 3))
    case = Case(model=str(path), runtime="fake", axes={"batch": 1}, options={"fail": "crash"})
    found, _ = run_search(case, samples, 0)
    assert [event.result.status for event in found.values()] == ["crashed"]
