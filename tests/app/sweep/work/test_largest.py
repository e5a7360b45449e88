"""The search for the largest batch: what is tried next, and real searches to their end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import save

from app.capabilities.largest_batch.rounds import LargestBatch
from app.capabilities.largest_batch.search import Try
from app.cases.case import Case
from app.cases.round import RoundResult
from app.plan.plan import EMPTY
from app.sweep.engine import Engine
from app.sweep.scheduling.round_jobs import Schedule
from app.sweep.work.export import ExportWork
from exporters.messages import ExportReply
from exporters.types import Reference, load_reference, repeat_reference, save_reference
from tests.app.sweep.sweeps import SHORT, drive, write_add_graph
from tests.exporters.support import model_of


def test_a_repeated_reference_has_its_entries_in_turn(tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    small, larger = tmp_path / "small.npz", tmp_path / "large.npz"
    save_reference(str(small), Reference({"x": x}, {"y": x.T}))
    repeat_reference(str(small), str(larger), {"input:x": 0, "output:y": 1}, 7)
    reference = load_reference(str(larger))
    assert np.array_equal(reference.inputs["x"], np.concatenate([x, x, x[:1]]))
    assert np.array_equal(reference.outputs["y"], np.concatenate([x, x, x[:1]]).T)
    assert larger.stat().st_size < 2 * small.stat().st_size + 1024


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    folder = tmp_path / "run" / "samples"
    folder.mkdir(parents=True)
    return folder


def write_wide_graph(path: Path) -> Path:
    """y = the largest of x repeated to 1 MiB an entry: it needs far more memory than its ends."""
    text = """(float[batch,4] x) => (float[batch,1] y)
    { wide = Tile(x, times) positive = Relu(wide) y = ReduceMax <axes = [1]> (positive) }"""
    save(model_of(text, {"times": np.array([1, 1 << 16])}), path)
    return path


def schedule(case: Case, samples: Path, limit_mib: int = 0) -> Schedule:
    limit = f"{limit_mib}MiB" if limit_mib else ""
    plan = EMPTY.model_copy(update={"memory_limit": limit})
    return Schedule([case], 1, SHORT, 60.0, 0, samples, plan)


def run_search(
    case: Case, samples: Path, limit_mib: int, tries: Sequence[Try] = ()
) -> tuple[dict[int, RoundResult], LargestBatch]:
    source = LargestBatch(schedule(case, samples, limit_mib), tries)
    with Engine(source) as engine:
        record = drive(engine)
    results = {work.case.axes.get("batch", 0): result for work, result in record.rounds()}
    return results, source


@pytest.mark.rare
def test_a_real_search_ends_where_the_limit_is(tmp_path: Path, samples: Path) -> None:
    path = write_wide_graph(tmp_path / "wide.onnx")
    case = Case(model=str(path), runtime="ort-cpu", axes={"batch": 32})
    results, _ = run_search(case, samples, limit_mib=300)
    statuses = {batch: result.status for batch, result in results.items()}
    assert set(statuses.values()) == {"ok", "out_of_memory"}
    largest = max(batch for batch, status in statuses.items() if status == "ok")
    smallest = min(batch for batch, status in statuses.items() if status == "out_of_memory")
    assert largest < smallest <= largest + max(1, largest // 32)
    # Between one and three MiB an entry, over an engine that takes 60 MiB or more itself.
    assert 50 <= largest <= 240
    for result in results.values():
        if result.status == "ok":
            assert result.check is not None
            assert result.check.output_ok
            assert (result.rss_peak_mb or 0) <= 300
            assert result.warmup_iterations == 0

    tries = [Try(replace(case, axes={"batch": batch}), result) for batch, result in results.items()]
    again, source = run_search(case, samples, 300, tries)
    assert not again, "a resumed search that is over tries nothing"
    assert source.exports_left == 0

    fewer_tries = [attempt for attempt in tries if attempt.result is not results[largest]]
    again, _ = run_search(case, samples, 300, fewer_tries)
    assert again, "a resumed search tries what it lacks"
    assert largest * 31 / 32 - 1 <= max(b for b, result in again.items() if result.status == "ok")
    assert 32 not in again


def test_a_model_is_searched_before_later_models_are_exported(
    tmp_path: Path, samples: Path
) -> None:
    """A stopped run has answers for its first models."""
    names = [f"add_{number}.onnx" for number in range(5)]
    paths = [write_add_graph(tmp_path / name, ("batch", 3)) for name in names]
    cases = [Case(model=str(path), runtime="fake", axes={"batch": 1}) for path in paths]
    source = LargestBatch(replace(schedule(cases[0], samples), cases=cases), [])
    kinds = []
    work = source.next([])
    while work is not None:
        kinds.append(work.kind)
        if isinstance(work, ExportWork):
            work.reply = ExportReply("export_failed", reason="no graph")
        work = source.next([work])
    assert kinds == ["export", "round"] * len(paths)
