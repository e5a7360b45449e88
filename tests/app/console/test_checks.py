"""The table of a check on a narrow terminal: no word of it is cut."""

from __future__ import annotations

from app.cases.case import Case
from app.cases.columns import NAMES
from app.comparison.measured_case import MeasuredCase
from app.console.check import check_blocks
from app.present.terminal import as_text

RUNTIMES = ("ort-cpu", "openvino-cpu", "torch-cpu", "fpga:v80", "fpga:ia-840f", "tensorrt-rtx:sm89")
WIDTH = 50


def test_runtimes_that_have_no_room_beside_each_other_stand_below() -> None:
    cases = [Case(model, runtime) for model in ("one.onnx", "two.onnx") for runtime in RUNTIMES]
    rows = [
        {**dict.fromkeys(NAMES), "case_id": case.case_id, "status": "unsupported", "reason": "no"}
        for case in cases
    ]
    measured_cases = [MeasuredCase(case, row, None) for case, row in zip(cases, rows, strict=True)]
    table = as_text(check_blocks(measured_cases, WIDTH), WIDTH).partition("unsupported: all")[0]
    assert max(map(len, table.splitlines())) <= WIDTH
    assert table.split().count("unsupported") == len(cases)
    assert all(table.split().count(runtime) == 1 for runtime in RUNTIMES)
