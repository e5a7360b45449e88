"""`ort-ep` as a user has it: a provider's package beside libraries that can't be used."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from exporters import install_layout
from runtimes.fpga.provider.abi import PROVIDER_NAME, shim_path
from tests.app.headless.batch import rows, run

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
