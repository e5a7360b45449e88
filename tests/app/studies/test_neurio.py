"""The NeurIO study of a whole run: its layout, devices over what all of them ran, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.cases.case import Case
from app.cases.status import Status
from app.plan.studies import load_study
from app.present.markdown import as_markdown
from app.studies.found import Found, found_in
from app.studies.page import page
from app.studies.table import study
from tests.app.results.runs import damage_line
from tests.app.studies.made import make_run, tables


def latency_us(case: Case) -> float | Status:
    """ort-cpu takes 10 µs for a layer and 40 for a cell, torch-cpu twice that; a card refuses all
    but the dense layers, which take it 1 µs."""
    if case.runtime.startswith("fpga"):
        return 1.0 if case.model.startswith("dense_") else "unsupported"
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


def test_a_block_has_its_configurations_and_a_line_for_each_device(told: str) -> None:
    layers, cells, _ = tables(told)
    assert layers[0] == ["Block", "Device", *(f"Config-{n}" for n in range(1, 5))]
    place = next(place for place, row in enumerate(layers) if row[0] == "Fully connected")
    neurons = [f"{a} neurons" for a in ("128-32", "256-64", "512-128", "1024-256")]
    assert layers[place : place + 4] == [
        ["Fully connected", "", *neurons],
        ["", "ort-cpu", *["10.0 µs"] * 4],
        ["", "torch-cpu", *["20.0 µs"] * 4],
        ["", "fpga:v80 (simulated)", *["1.00 µs"] * 4],
    ]
    assert (len(layers), len(cells)) == (1 + 15 * 4, 1 + 6 * 4)
    assert cells[-3:][0] == ["", "ort-cpu", "40.0 µs", "40.0 µs", "", ""]


def test_devices_are_told_over_what_all_of_them_ran(told: str) -> None:
    of_layers, of_cells = told.split("## Cell-based benchmarking")
    mean = "geometric mean of the 4 medians that all devices have"
    assert f"ort-cpu: 60 of 60 layers measured; {mean} 10.0 µs" in of_layers
    assert f"torch-cpu: 60 of 60 layers measured; {mean} 20.0 µs" in of_layers
    assert f"fpga:v80 (simulated): 4 of 60 layers measured; {mean} 1.00 µs" in of_layers
    assert "ort-cpu: 22 of 22 cells measured\n" in of_cells


def test_what_a_device_refuses_says_so_in_its_cells(told: str) -> None:
    assert sum(row.count("unsupported") for table in tables(told) for row in table) == 78
    assert "unsupported, 78 cases" in told


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


def test_of_a_run_with_a_damaged_line_the_rest_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    make_run(folder, "neurio", ["ort-cpu"], latency_us)
    journal = damage_line(folder, 3)
    text = as_markdown(page(study("neurio"), found_in(folder, load_study("neurio"))))
    assert f"{journal.name} line 3 is damaged" in text.split("## Not measured")[1]
    assert "59 of 60 layers measured" in text


def test_a_run_of_other_cases_too_tells_how_many(tmp_path: Path) -> None:
    """Not of another batch: that would be another figure under the same name."""
    plan = load_study("neurio")
    grids = [grid.model_copy(update={"batch_size": (2,)}) for grid in plan.sweeps]
    other = plan.model_copy(update={"sweeps": (plan.sweeps[0], *grids[1:])})
    folder = tmp_path / "run"
    make_run(folder, "neurio", ["ort-cpu"], latency_us)
    found = found_in(folder, other)
    assert (len(found.measured), found.others) == (60, 22)
    text = as_markdown(page(study("neurio"), found))
    assert "22 cases of this run are not the study's" in text
