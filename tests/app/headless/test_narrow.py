"""bf16 and fp8 as a user asks for them: rows where they are executed, and why not elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtimes.openvino.library import library
from runtimes.session.precision import multiplies_bf16
from tests.app.headless.batch import rows, run


@pytest.mark.usefixtures("exported")
def test_bf16_is_measured_where_it_is_executed_and_refused_elsewhere(work: Path) -> None:
    runtimes = ("torch-cpu", "openvino-cpu", "ort-cpu", "fpga")
    flags = ("--precision", "bf16", "--preset", "glance", "--rounds", "1", "--out", "run")
    run("--headless", "--models", "mlp", "--runtimes", ",".join(runtimes), *flags)
    torch, openvino, ort, card = rows(work / "run")
    measured_rows = [torch]
    if multiplies_bf16():
        measured_rows.append(openvino)
    elif "BF16" not in library().computes_in("CPU"):  # AVX-512 alone computes it in a longer way
        assert openvino["status"] == "unsupported"
    for row in measured_rows:
        assert (row["status"], row["precision"], row["output_ok"]) == ("ok", "bf16", "true")
        assert 0 < float(row["max_rel_error"]) <= float(row["tolerance"]) == 0.08
    for row, why in ((ort, "no products in"), (card, "by itself")):
        assert row["status"] == "unsupported"
        assert why in row["reason"]


def test_fp8_that_nothing_executes_is_one_sentence_before_anything_is_written(work: Path) -> None:
    arguments = ("--models", "mlp", "--runtimes", "torch-cpu,ort-cpu", "--precision", "fp8")
    code, _, errors = run("--headless", *arguments, "--out", "run")
    assert code == 2
    assert "torch-cpu does not execute fp8, which TensorRT alone multiplies" in errors
    assert not (work / "run").exists()
