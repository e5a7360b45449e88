"""Rounds of several shapes, and sustained ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.cases.round import FIRST_OF_SHAPE, MEASURED, RECORD, WARMUP
from app.cases.scenario import Condition, Shapes
from app.sweep.scheduling.round_jobs import limits_under
from app.workers.sampling import MAXIMUM_SAMPLES, downsample, sampling_rate
from exporters.types import PACKAGED, ExportedModel, Reference, axes_key, save_reference
from tests.app.sweep.sweeps import write_add_graph
from tests.app.workers.conftest import SHORT, Measure, float_model

MIX = Condition("shapes", file="mix.csv", shapes=Shapes(("batch",), ((1,), (4,), (64,)), (6, 3, 1)))


def adding(folder: Path, wrong_at: int = 0) -> ExportedModel:
    """y = x + 1 at the sizes of the mix; the stored output of one size may be wrong."""
    references = {}
    for point in MIX.points:
        file, size = folder / f"{axes_key(point)}.npz", (point["batch"], 3)
        y = np.full(size, 9.0 if point["batch"] == wrong_at else 2.0, np.float32)
        save_reference(
            str(file), Reference({"x": np.ones(size, np.float32)}, {"y": y}, (PACKAGED,))
        )
        references[axes_key(point)] = str(file)
    path = write_add_graph(folder / "add.onnx", ("batch", 3))
    return float_model(path, {"x": ("batch", 3)}, {"y": ("batch", 3)}, references)


@pytest.mark.parametrize("call", ["c", "python"])
def test_every_shape_is_seen_first_once_and_then_as_often_as_its_weight_says(
    measure: Measure, tmp_path: Path, call: str
) -> None:
    result, records, _ = measure(condition=MIX, model=adding(tmp_path), options={"call": call})
    assert (result.status, result.concurrency) == ("ok", 1)
    assert result.call_path.endswith("timed in C" if call == "c" else "timed in Python")
    assert result.check is not None
    assert result.check.output_ok
    first = records[records["phase"] == FIRST_OF_SHAPE]
    assert len(first) == 2, "the process's own first run is no shape's"
    assert len({*first["lane"]}) == 2
    assert (
        first["finished_ns"] <= records[records["phase"] != FIRST_OF_SHAPE]["started_ns"][0]
    ).all()
    lanes = records[records["phase"] == MEASURED]["lane"]
    shares = np.bincount(lanes, minlength=3) / len(lanes)
    assert shares == pytest.approx([0.6, 0.3, 0.1], abs=4 * np.sqrt(0.24 / len(lanes)))
    assert len(str(result.facts["shapes_sha256"])) == 64


def test_a_wrong_output_of_one_shape_is_found_and_named(measure: Measure, tmp_path: Path) -> None:
    result, _, _ = measure(condition=MIX, model=adding(tmp_path, wrong_at=4))
    assert result.status == "wrong_output"
    assert "output 'y' at batch=4 differs from the packaged reference" in result.reason


def test_a_runtime_of_fixed_shapes_says_so(measure: Measure, tmp_path: Path) -> None:
    result, _, _ = measure("fake", condition=MIX, model=adding(tmp_path))
    assert result.status == "unsupported"
    assert "fake is measured in sessions of one shape each: leave --condition" in result.reason


SUSTAINED = Condition.parse("sustained:3s")


def block(runs: int, warming: int = 5) -> np.ndarray:
    """Runs of a microsecond, one after another."""
    records = np.zeros(runs, RECORD)
    records["started_ns"] = np.arange(runs) * 1000
    records["finished_ns"] = records["started_ns"] + 1000
    records["phase"] = MEASURED
    records["phase"][:warming] = WARMUP
    return records


def test_half_an_hour_of_short_runs_keeps_what_a_folder_holds() -> None:
    per_s = sampling_rate(Condition.parse("sustained:30min"))
    assert per_s * 1800 == pytest.approx(MAXIMUM_SAMPLES)
    records = block(200_000)
    sample = downsample(records, per_s)
    assert len(sample) == int(per_s * 0.2)
    assert (np.diff(sample["started_ns"]) > 0).all(), "in their order"
    assert (sample["phase"] == MEASURED).all()
    halves = np.count_nonzero(sample["started_ns"] < 100_000_000) / len(sample)
    assert halves == pytest.approx(0.5, abs=0.1), "evenly over the time"


def test_both_ends_are_told_with_the_machine_beside_them(measure: Measure) -> None:
    limits = limits_under(Condition.parse("sustained:1s"), SHORT)
    result, _, _ = measure("fake", condition="sustained:1s", limits=limits)
    assert (result.status, result.stop_reason) == ("ok", "max_time")
    assert result.duration_s >= 1.0
    assert result.facts["sampled_fraction"] == 1.0
