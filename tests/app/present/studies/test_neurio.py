"""The NeurIO study of a whole run: its layout, devices over what all of them ran, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.analysis.comparison.measured_case import MeasuredCase
from app.cases.case import Case
from app.cases.column import Blank
from app.cases.status import Status
from app.plan.studies import load_study
from app.present.studies.neurio import _compute
from app.present.studies.page import page
from app.present.studies.study import Found, found_in, study
from app.present.terminal import as_markdown
from exporters.model_names import is_null, original_of
from tests.app.present.studies.made import make_run, tables
from tests.app.run_folder.runs import damage_line


def latency_us(case: Case) -> float | Status:
    """ort-cpu takes 10 µs for a layer, 100 for one of the four Conv3D and 40 for a cell, torch-cpu
    twice that; a card refuses all but the dense layers, which take it 1 µs. The call is 4 µs, and
    half of one on the card."""
    if case.runtime.startswith("fpga"):
        dense = original_of(case.model).startswith("dense_")
        return (0.5 if is_null(case.model) else 1.0) if dense else "unsupported"
    if is_null(case.model):
        return 4.0
    if case.model.startswith("conv3d_"):
        return 100.0
    layer = case.suite == "layers"
    return (10.0 if layer else 40.0) * (2.0 if case.runtime == "torch-cpu" else 1.0)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    folder = tmp_path_factory.mktemp("neurio") / "run"
    make_run(folder, "neurio", ["ort-cpu", "torch-cpu", "fpga:v80"], latency_us)
    return found_in(folder, load_study("neurio"))


@pytest.fixture(scope="module")
def told(found: Found) -> str:
    return as_markdown(page(study("neurio"), found))


def test_devices_are_told_over_what_all_of_them_ran(told: str) -> None:
    layer_section, cell_section = told.split("## Cell-based benchmarking")
    mean = "geometric mean of the 4 medians that all devices have"
    assert f"ort-cpu: 60 of 60 layers measured; {mean} 10.0 µs" in layer_section
    assert f"torch-cpu: 60 of 60 layers measured; {mean} 20.0 µs" in layer_section
    assert f"fpga:v80 (simulated): 4 of 60 layers measured; {mean} 1.00 µs" in layer_section
    assert "ort-cpu: 22 of 22 cells measured\n" in cell_section


def test_compute_is_the_median_without_the_call(told: str) -> None:
    """10 µs and 100 µs with a call of 4, of one round each, so without an interval."""
    layers, compute, cells, cell_header, _ = tables(told)
    refused = [sum(row.count("unsupported") for row in table) for table in (layers, cells, compute)]
    assert (refused[0] + refused[1], refused[2]) == (78, 56)
    rows = {block: number for number, (block, *_) in enumerate(compute) if block}
    assert compute[rows["Fully connected"] + 1][1:] == ["ort-cpu", *["6.00 µs"] * 4]
    assert compute[rows["Fully connected"] + 3][1:] == ["fpga:v80 (simulated)", *["500 ns"] * 4]
    assert compute[rows["Convolutional 3D"] + 1][1:] == ["ort-cpu", *["96.0 µs"] * 4]
    assert cell_header[0] == compute[0]


def test_layers_that_are_mostly_the_call_are_counted(told: str) -> None:
    """All but Conv3D take as long as a reshape; none takes less than 1.5 calls of 4 µs."""
    reshape = "ort-cpu: 52 of 56 layers take less than 1.5 times the slowest reshape (10.0 µs)"
    assert f"{reshape}; 0 of 60 take less than 1.5 times their own call" in told
    assert "fpga:v80 (simulated): 0 of 4 take less than 1.5 times their own call" in told


def test_settings_and_machines_are_lines_of_the_table(tmp_path: Path) -> None:
    """Two batch sizes, two precisions: each line says in what it differs from the others."""
    folder = tmp_path / "run"
    make_run(
        folder,
        "neurio",
        ["ort-cpu"],
        lambda case: 5.0 * case.axes["batch"],
        batch_size=[1, 8],
        precisions=["fp32", "fp16"],
    )
    text = as_markdown(page(study("neurio"), found_in(folder, load_study("neurio"))))
    layers, *_ = tables(text)
    lines = {row[1]: row[2] for row in layers[1:6] if row[1]}
    assert lines == {
        f"ort-cpu {precision} batch {batch}": text_of
        for precision in ("fp32", "fp16")
        for batch, text_of in ((1, "5.00 µs"), (8, "40.0 µs"))
    }
    assert "graphlap study neurio --runtimes ort-cpu --precision fp32,fp16 --batch 1,8" in text
    assert "Batch size of the figures: 1, 8." in text
    assert "at batch 1" not in text


def test_result_files_are_by_part_and_device_in_the_pages_order(found: Found) -> None:
    files = study("neurio").files(found)
    assert sorted(files) == sorted(
        f"neurio-{part}-{device}.json"
        for part in ("layers", "cells")
        for device in ("ort-cpu", "torch-cpu", "fpga-v80")
    )
    profiles = json.loads(files["neurio-layers-ort-cpu.json"])
    assert [len(profiles), profiles[0]["model"]["model_name"]] == [60, "conv1d_f32_s1"]
    assert set(profiles[0]["inference"]["inference_time"]) == {10e-6}


def test_a_run_of_other_cases_too_tells_how_many(tmp_path: Path) -> None:
    """Not of another pacing: that would be another figure under the same name."""
    plan = load_study("neurio")
    grids = [grid.model_copy(update={"scenarios": ("paced:20us",)}) for grid in plan.sweeps]
    other = plan.model_copy(update={"sweeps": (plan.sweeps[0], *grids[1:])})
    folder = tmp_path / "run"
    make_run(folder, "neurio", ["ort-cpu"], latency_us)
    results = found_in(folder, other)
    assert (len(results.measured), results.others) == (60, 44)
    text = as_markdown(page(study("neurio"), results))
    assert "44 cases of this run" in text
    journal = damage_line(folder, 3)
    text = as_markdown(page(study("neurio"), found_in(folder, plan)))
    assert f"{journal.name} line 3 is damaged" in text.split("## Not measured")[1]
    assert "59 of 60 layers measured" in text, "the rest is told"


def test_no_time_of_a_layer_is_negative() -> None:
    row = Blank(status="ok", compute_p50_us=-0.9)
    assert _compute(MeasuredCase(Case("mlp", "ort-cpu"), row, None)) == "0"
