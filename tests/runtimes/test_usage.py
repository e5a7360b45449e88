"""How a program uses the winner of a search: the program runs, and has the settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exporters.types import ExportedModel, TensorSpec
from runtimes import registry
from runtimes.options import OptionValue, Settings, Usage, Used, all_options
from tests.app.analysis.columns.filled import MODEL
from tests.app.sweep.sweeps import write_add_graph


@pytest.fixture
def model(tmp_path: Path) -> ExportedModel:
    path = write_add_graph(tmp_path / "net's.onnx", ("batch", 3))
    return replace(
        MODEL,
        path=str(path),
        inputs=(TensorSpec("x", "float32", ("batch", 3)),),
        outputs=(TensorSpec("y", "float32", ("batch", 3)),),
        axes={"batch": 4},
    )


def usage_of(runtime: str, model: ExportedModel, threads: int = 0, **options: OptionValue) -> Usage:
    adapter = registry.load(runtime)
    all_settings = all_options(adapter.options, options)
    return adapter.usage(Used(model, Settings(threads=threads, options=all_settings)))


def run(program: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(program, names)
    return names


def test_the_program_of_onnx_runtime_opens_the_session(model: ExportedModel) -> None:
    usage = usage_of("ort-cpu", model, 2, memory_arena=False, graph_optimization="basic")
    names = run(usage.python)
    options = names["session"].get_session_options()
    assert options.intra_op_num_threads == 2
    assert not options.enable_cpu_mem_arena
    assert options.graph_optimization_level.name == "ORT_ENABLE_BASIC"
    (y,) = names["session"].run(None, {"x": np.ones((4, 3), np.float32)})
    assert (y == 2.0).all()


def test_the_program_of_openvino_compiles_with_the_properties(model: ExportedModel) -> None:
    usage = usage_of("openvino-cpu", model, 2, streams=2)
    names = run(usage.python)
    assert names["compiled"].get_property("NUM_STREAMS") == 2
    assert len(names["requests"]) == 2
    names["requests"][1].infer({"x": np.ones((4, 3), np.float32)})
    assert (names["requests"][1].get_output_tensor().data == 2.0).all()


@pytest.mark.parametrize(("precision", "said"), [("bf16", "bf16"), ("f32", "")])
def test_tritons_openvino_backend_is_told_what_it_has_parameters_for_and_the_rest_is_said(
    model: ExportedModel, precision: str, said: str
) -> None:
    lines = usage_of("openvino-cpu", model, 2, inference_precision=precision).triton.splitlines()
    usages = {
        line.split('"')[1]: line.split('"')[3] for line in lines if line.startswith("parameters")
    }
    # What the backend documents; it passes over any other name without a word.
    bf16 = {"HINT_BF16": "YES"} if said else {}
    assert usages == {
        "NUM_STREAMS": "1",
        "INFERENCE_NUM_THREADS": "2",
        "RESHAPE_IO_LAYERS": "YES",
        **bf16,
    }
    assert 'default_model_filename: "model.onnx"' in lines, "its own default is model.xml"
    assert lines[-1].startswith("# measured with, and no parameter of this backend: ")
    assert "ENABLE_CPU_PINNING=YES" in lines[-1]
    assert ("INFERENCE_PRECISION_HINT=f32" in lines[-1]) == (not said)


def test_tritons_configuration_has_the_shapes_and_the_settings(model: ExportedModel) -> None:
    lines = usage_of("ort-cpu", model, 2, graph_optimization="off").triton.splitlines()
    assert lines[0] == 'backend: "onnxruntime"'
    assert 'input { name: "x" data_type: TYPE_FP32 dims: [ 4, 3 ] }' in lines
    assert 'parameters { key: "intra_op_thread_count" value: { string_value: "2" } }' in lines
    (untold,) = (line for line in lines if line.startswith("#"))
    assert "session.intra_op.allow_spinning=1" in untold
    # The backend's own words: 2 is no optimisation at all.
    assert lines[-1] == "optimization { graph { level: 2 } }"
    assert "optimization" not in usage_of("ort-cpu", model).triton, "all is its default"


def test_a_name_can_not_leave_its_quotes(model: ExportedModel) -> None:
    hostile = TensorSpec('x" } evil { "', "float32", ("batch", 3))
    usage = usage_of("ort-cpu", replace(model, inputs=(hostile,)))
    assert r'name: "x\" } evil { \""' in usage.triton
