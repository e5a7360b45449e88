"""Providers of packages, references and engines that refuse: each costs its own row alone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper

from exporters import install_layout
from runtimes.fpga.provider.abi import PROVIDER_NAME, shim_path
from tests.app.headless.batch import rows, run
from tests.exporters.support import graph, tensor

OURS = f"ort-ep:{install_layout.module_name('runtimes.fpga.provider')}"


SOURCE = Path(__file__).parents[2] / "runtimes" / "stand_ins" / "provider.c"


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Libraries that can't be used, by what is wrong with them."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler builds the libraries that are tried here")
    folder = tmp_path_factory.mktemp("providers")
    paths = {}
    for wrong in ("CRASHES", "NEWER", "NEITHER"):
        paths[wrong] = str(folder / f"lib{wrong.lower()}.so")
        subprocess.run(
            [compiler, "-shared", "-fPIC", f"-D{wrong}", "-o", paths[wrong], SOURCE], check=True
        )
    return paths


def test_a_provider_is_measured_and_one_that_cannot_be_used_costs_its_own_row(
    work: Path, libraries: dict[str, str]
) -> None:
    """One crashes as it is loaded: in the child, which is why the parent loads none.

    The card computes in bf16, which ONNX Runtime does not know: hence the tolerance.
    """
    bare = str(shim_path())
    names = [*libraries.values(), bare, "numpy", "onnxruntime_ep_of_nobody"]
    code, out, errors = run(
        "--headless", "--models", "add.onnx", "--preset", "glance", "--rounds", "1",
        "--runtimes", ",".join([OURS, *(f"ort-ep:{name}" for name in names)]),
        "--option", "ort-ep.card=ia-840f", "--tolerance", "0.05", "--out", "run",
    )  # fmt: skip
    assert code == 1, errors
    row_by_runtime = {row["runtime"]: row for row in rows(work / "run")}
    row_by_library = {name: row_by_runtime[f"ort-ep:{name}"] for name in names}

    assert row_by_runtime[OURS]["status"] == "ok"
    assert row_by_runtime[OURS]["execution_provider"] == PROVIDER_NAME
    assert row_by_runtime[OURS]["clock"] == "wall"
    assert row_by_runtime[OURS]["precision"] == "unknown"
    assert "card=ia-840f" in row_by_runtime[OURS]["options"]
    assert float(row_by_runtime[OURS]["latency_p50_us"]) > 0

    assert row_by_library[libraries["CRASHES"]]["status"] == "crashed"
    assert "SIGSEGV" in row_by_library[libraries["CRASHES"]]["reason"]
    for name, reason in (
        (libraries["NEWER"], "it needs ONNX Runtime 1.9999"),
        (libraries["NEITHER"], "CreateEpFactories"),
        (bare, "nobody answers for"),
        ("numpy", "it has no get_library_path()"),
        ("onnxruntime_ep_of_nobody", "is not installed: pip install onnxruntime-ep-of-nobody"),
    ):
        assert row_by_library[name]["status"] == "unavailable"
        assert reason in row_by_library[name]["reason"]
    assert "has no get_library_path()" in out


def index_beyond() -> ModelProto:
    """A constant index outside its table: OpenVINO reads zeros."""
    nodes = [
        helper.make_node("Gather", ["t", "i"], ["g"]),
        helper.make_node("Add", ["x", "g"], ["y"]),
    ]
    constants = {"t": np.ones(3, np.float32), "i": np.array([0, 1, 3])}
    return graph(nodes, [tensor("x", ["rows", 3])], [tensor("y", ["rows", 3])], constants)


def version_beyond() -> ModelProto:
    model = graph(
        [helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [4])], [tensor("y", [4])], {}
    )
    model.ir_version = 99
    return model


@pytest.mark.parametrize(
    ("model", "sizes", "ort_status", "word", "is_checked"),
    [
        (index_beyond(), ("--axis", "rows=2"), "export_failed", "index", False),
        (version_beyond(), (), "unsupported", "IR version 99", True),
    ],
    ids=["index", "version"],
)
def test_the_other_engine_is_measured(
    work: Path,
    model: ModelProto,
    sizes: tuple[str, ...],
    ort_status: str,
    word: str,
    is_checked: bool,
) -> None:
    onnx.save(model, work / "net.onnx")
    lengths = ("--preset", "glance", "--rounds", "1", "--out", "run")
    run(
        "--headless", "--models", "net.onnx", "--runtimes", "ort-cpu,openvino-cpu", *sizes, *lengths
    )
    by_runtime = {row["runtime"]: row for row in rows(work / "run")}
    refusal, other = by_runtime["ort-cpu"], by_runtime["openvino-cpu"]
    assert refusal["status"] == ort_status and word in refusal["reason"]
    assert other["status"] == "ok", other["reason"]
    assert other["output_ok"] == ("true" if is_checked else "")
    assert ("no_reference" in other["warning_codes"]) != is_checked
