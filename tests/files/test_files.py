"""Every kind of file that ONNX Runtime opens is measured on ort-cpu, with checked outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.files.kinds import Kind
from tests.files.measured import KINDS, measured

NOT_MEASURED = {
    "attribute-unknown": "compile_failed"  # by ONNX Runtime
}
"""With the status of their rows."""


@pytest.mark.long
def test_one_kind_in_twelve_is_measured_with_checked_outputs(tmp_path: Path) -> None:
    """`make soak` measures all."""
    _measure(KINDS[7::12], tmp_path)


@pytest.mark.rare
@pytest.mark.timeout(1800)
def test_all_kinds_are_measured_with_checked_outputs(tmp_path: Path) -> None:
    _measure(KINDS, tmp_path)


def _measure(kinds: Sequence[Kind], folder: Path) -> None:
    rows = measured(kinds, ["ort-cpu"], folder)
    statuses = {name: rows[name]["ort-cpu"]["status"] for name in rows}
    assert statuses == {kind.name: NOT_MEASURED.get(kind.name, "ok") for kind in kinds}
    for name, by_runtime in rows.items():
        _check_row(name, by_runtime["ort-cpu"])


def _check_row(name: str, row: Mapping[str, str]) -> None:
    if name in NOT_MEASURED:
        assert row["reason"]
        return
    assert float(row["latency_p50_us"]) > 0
    if name != "inputs-none-drawn":  # which draws its outputs
        assert row["output_ok"] == "true", name
