"""A user's modules and networks, narrow precisions and sizes, through a whole run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from app.cases.column import pairs_in
from runtimes.openvino.library import library
from runtimes.session.precision import multiplies_bf16
from tests.app.cli.headless.batch import rows, run
from tests.exporters.pytorch import networks
from tests.exporters.support import model_of

FILE = str(Path(networks.__file__))


def test_a_row_tells_the_sizes_that_nobody_asked_for(work: Path) -> None:
    code, out, _ = run(
        *("--headless", "--models", f"{FILE}:keywords", "--axis", "sequence=7"),
        *("--runtimes", "ort-cpu", "--rounds", "1", "--out", "run"),
    )
    assert code == 0, out
    (row,) = rows(work / "run")
    assert (row["axes"], row["batch_size"]) == ("batch=1;sequence=7", "1")
    assert row["inputs_drawn"] == "input_ids as in the example, keep as in the example"


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


AXES = ("--axis", "past=1", "--axis", "step=1,2", "--axis", "total=2,3")


def save_cached(path: Path) -> None:
    """y = concat(kept, x) @ w + mask, as a decoder's step: `total` has to be `past` + `step`."""
    text = """(float[past,4] kept, float[step,4] x, float[total,4] mask) => (float[total,4] y)
    { all = Concat <axis = 0> (kept, x) product = MatMul(all, w) y = Add(product, mask) }"""
    onnx.save(model_of(text, {"w": np.eye(4, dtype=np.float32)}), path)


@pytest.mark.parametrize("more", [("--precision", "int8"), ("--overhead",)], ids=str)
def test_a_combination_that_does_not_fit_is_one_row(work: Path, more: tuple[str, ...]) -> None:
    save_cached(work / "step.onnx")
    models = ("--models", "step.onnx", "--runtimes", "ort-cpu", *AXES, *more)
    lengths = ("--preset", "glance", "--rounds", "1", "--out", "run")
    code, out, log = run("--headless", *models, *lengths)
    assert code == 1, "two of four failed"
    unfit_rows = [row for row in rows(work / "run") if row["precision"] or row["status"] != "ok"]
    for row in (unfit_row for unfit_row in unfit_rows if "null" not in unfit_row["model"]):
        sizes = pairs_in(row["axes"])
        fits = int(sizes["past"]) + int(sizes["step"]) == int(sizes["total"])
        refused = ("run_failed", "compile_failed")
        assert row["status"] in (("ok",) if fits else refused), row["reason"]
        assert fits or "--axis total=" in row["reason"]
    assert sum(row["status"] == "ok" for row in unfit_rows) >= 2, out + log
