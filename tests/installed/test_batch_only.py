"""`pip install 'graphlap[cpu]'`: no torch, no Qt, no dataframes, and .onnx files work whole."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.app.cli.headless.batch import rows
from tests.installed.environment import Environment
from tests.parallel import once

ABSENT = ("torch", "onnxscript", "PySide6", "pyqtgraph", "pandas", "pyarrow", "sklearn", "openvino")
SWEEP = ("--headless", "--rounds", "1", "--preset", "quick")


@pytest.fixture(scope="module")
def batch_only(wheel: Path, dense: Path) -> Environment:
    """With what commands said in it before it had the extra in `of-base.json`."""
    folder = wheel.parents[1] / "batch-only"
    environment = Environment(folder / "venv")
    with once(folder) as is_new:
        if is_new:
            Environment.create(environment.folder)
            environment.install(wheel)
            environment.see_what_it_asks_for()
            sweep = (*SWEEP, "--models", str(dense), "--batch", "1", "--out", "run")
            commands = ("models",), sweep, (*sweep, "--runtimes", "ort-cpu,fpga")
            ended = [environment.run("graphlap", *words, cwd=folder) for words in commands]
            said = [(process.returncode, process.stdout, process.stderr) for process in ended]
            (folder / "of-base.json").write_text(json.dumps(said), "utf-8")
            environment.see_what_it_asks_for("cpu")
    return environment


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> Path:
    float32 = TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])],
        "dense",
        [helper.make_tensor_value_info("x", float32, ["batch", 8])],
        [helper.make_tensor_value_info("y", float32, ["batch", 4])],
        [numpy_helper.from_array(np.ones((8, 4), np.float32), "w")],
    )
    path = tmp_path_factory.mktemp("graph") / "dense.onnx"
    opset = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    return path


def test_nothing_but_its_own_requirements_can_be_imported(
    batch_only: Environment, tmp_path: Path
) -> None:
    code = f"from importlib.util import find_spec; print(*filter(find_spec, {ABSENT}))"
    process = batch_only.run("python", "-c", code, cwd=tmp_path)
    assert (process.stdout, process.returncode) == ("\n", 0), process.stderr


def test_an_onnx_file_is_measured_and_checked(
    batch_only: Environment, dense: Path, tmp_path: Path
) -> None:
    runtimes = ("--runtimes", "ort-cpu,fpga:v80")
    process = batch_only.run(
        "graphlap", *SWEEP, "--models", str(dense), "--batch", "2", *runtimes, "--out", "run",
        cwd=tmp_path,
    )  # fmt: skip
    assert process.returncode == 0, process.stdout + process.stderr
    by_runtime = {row["runtime"]: row for row in rows(tmp_path / "run")}
    assert by_runtime.keys() == {"ort-cpu", "fpga:v80"}
    assert {row["status"] for row in by_runtime.values()} == {"ok"}
    assert {row["output_ok"].lower() for row in by_runtime.values()} == {"true"}


def test_what_is_missing_is_said_with_the_extra_that_brings_it(
    batch_only: Environment, dense: Path, tmp_path: Path
) -> None:
    process = batch_only.run(
        "graphlap", *SWEEP, "--models", "mlp", "--runtimes", "ort-cpu,torch-cpu,openvino-cpu",
        "--out", "run", cwd=tmp_path,
    )  # fmt: skip
    by_runtime = {row["runtime"]: row for row in rows(tmp_path / "run")}
    assert {row["status"] for row in by_runtime.values()} == {"unavailable"}, process.stderr
    assert "mlp is a torch module" in by_runtime["ort-cpu"]["reason"]
    assert "pip install 'graphlap[torch]'" in by_runtime["ort-cpu"]["reason"]
    assert "pip install 'graphlap[torch]'" in by_runtime["torch-cpu"]["reason"]
    assert "pip install 'graphlap[openvino]'" in by_runtime["openvino-cpu"]["reason"]


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("open",), "gui"),
        ((*SWEEP, "--models", "mlp", "--export", "parquet", "--out", "run"), "data"),
    ],
)
def test_what_can_not_be_done_at_all_ends_in_one_sentence(
    arguments: tuple[str, ...], extra: str, batch_only: Environment, tmp_path: Path
) -> None:
    process = batch_only.run("graphlap", *arguments, cwd=tmp_path)
    assert process.returncode == 2
    assert process.stderr.count("graphlap: ") == 1
    assert f"pip install 'graphlap[{extra}]'" in process.stderr
    assert not (tmp_path / "run").exists()


def test_the_base_alone_lists_and_refuses_in_one_sentence(batch_only: Environment) -> None:
    said = json.loads(batch_only.folder.with_name("of-base.json").read_text("utf-8"))
    models, unnamed, named = said
    assert models[0] == 0
    assert (unnamed[0], unnamed[2].count("graphlap: ")) == (2, 1)
    assert "pip install 'graphlap[cpu]'" in unnamed[2]
    assert "2 cases (ort-cpu, fpga): ONNX Runtime is not installed" in named[1]
