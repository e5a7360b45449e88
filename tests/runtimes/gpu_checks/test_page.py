"""The page about GPUs states what has run, from the results alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.gpu.page import BEGIN, EMPTY, END, MACHINE_FILE, PAGE, RESULTS, main, written
from tests.gpu.record import Line, Record

MACHINE = {
    "python": "3.12.1",
    "stand_in": "",
    "device": "NVIDIA H100",
    "uuid": "1",
    "driver_cuda": "13.0",
    "begun": "2026-12-01T10:00:00+00:00",
}
LINES = [
    Line("torch-cuda", "start", "", "version 2.11 on NVIDIA H100", "", "pass", "9.0"),
    Line("torch-cuda", "A/A", "boundary=device", "1.200", "0.97 to 1.03", "fail", "1.0"),
    Line("torch-cuda", "energy", "boundary=device", "no counter", "", "not run", "1.0"),
    Line("tensorrt", "start", "", "TensorRT is not installed", "", "not run", "0.4"),
]


def results(folder: Path, **machine: str) -> Path:
    run_folder = folder / "results" / "h100"
    run_folder.mkdir(parents=True)
    (run_folder / MACHINE_FILE).write_text(json.dumps({**MACHINE, **machine}), "utf-8")
    with Record(run_folder) as record:
        for line in LINES:
            record.add(line)
    return folder / "results"


def test_the_page_is_that_of_the_results() -> None:
    text = PAGE.read_text("utf-8")
    assert written(text, RESULTS) == text


def test_a_runtime_that_started_has_a_row_and_its_failures_are_listed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\n{EMPTY}\n{END}\nafter\n", "utf-8")
    assert main([str(page), str(results(tmp_path))]) == 0
    text = page.read_text("utf-8")
    (row,) = [line for line in text.splitlines() if "torch-cuda, version 2.11" in line]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[:4] == ["2026-12-01", "NVIDIA H100", "13.0", "3.12.1"]
    assert cells[5:] == ["1", "1", "1"]
    assert "A/A boundary=device: 1.200" in text
    assert "tensorrt," not in text and EMPTY not in text
    assert text.startswith("before") and text.endswith("after\n")


def test_checks_of_a_stand_in_are_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}{END}", "utf-8")
    with pytest.raises(SystemExit):
        main([str(page), str(results(tmp_path, stand_in="correct"))])
    assert page.read_text("utf-8") == f"{BEGIN}{END}"
