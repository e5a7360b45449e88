"""A case with a batcher has its model at every batch, or a row that says why it can't."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.cases.case import Case
from app.cases.scenario import Batcher
from app.sweep.scheduling.round_jobs import batches
from exporters.types import StatePair
from runtimes.errors import Unsupported
from tests.app.sweep.sweeps import exported_add

CASE = Case("add.onnx", "ort-cpu", axes={"batch": 1}, batcher=Batcher(6, 1000.0))


def test_the_model_is_given_at_each_batch_that_is_sent(tmp_path: Path) -> None:
    model = replace(exported_add(tmp_path), axes={"batch": 1}, batch="batch")
    assert [batch_case.axes for batch_case in batches(CASE, model)] == [
        {"batch": n} for n in (1, 2, 4, 6)
    ]
    assert batches(replace(CASE, batcher=None), model) == ()


def test_what_no_batcher_can_send_together_is_told(tmp_path: Path) -> None:
    fixed_export = exported_add(tmp_path)
    open_batch = replace(fixed_export, axes={"batch": 1}, batch="batch")
    with pytest.raises(Unsupported, match="no open batch axis"):
        batches(CASE, fixed_export)
    with pytest.raises(Unsupported, match="hands its state from run to run"):
        batches(CASE, replace(open_batch, states=(StatePair("x", "y"),)))
    with pytest.raises(Unsupported, match="no server to wait for"):
        batches(replace(CASE, runtime="fpga:v80"), open_batch)
