"""A null twin's graph and module write every output from what they are fed, and agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from exporters.noop import Recipe, null_factory, null_graph, recipe
from exporters.onnx_evaluator.evaluator import Evaluator
from exporters.pytorch.noop_module import NullModule
from exporters.types import StatePair, TensorSpec
from exporters.validation import check_file

AXES = {"batch": 3, "sequence": 5}


def spec(name: str, *shape: int | str, dtype: str = "float32") -> TensorSpec:
    return TensorSpec(name, dtype, shape)


IDS = spec("ids", "batch", "sequence", dtype="int64")
MODELS: Mapping[str, tuple[Sequence[TensorSpec], Sequence[TensorSpec]]] = {
    "fixed sizes": ([spec("x", 1, 3, 8, 8)], [spec("y", 1, 10)]),
    "more dimensions out than in": ([spec("x", 4)], [spec("y", 2, 3, 4)]),
    "an open batch": ([spec("x", "batch", 3, 8, 8)], [spec("y", "batch", 10)]),
    "an open batch that moves": ([spec("x", "batch", 7)], [spec("y", 2, "batch", 5)]),
    "two open sizes": ([IDS], [spec("logits", "batch", "sequence", 11)]),
    "two open sizes that change places": (
        [spec("x", "batch", "sequence", 2)],
        [spec("y", "sequence", "batch", 3)],
    ),
    "a size twice": ([spec("x", "sequence", 4)], [spec("y", "sequence", "sequence")]),
    "alike": ([spec("x", "batch", 4)], [spec("y", "batch", 4)]),
    "several inputs": (
        [IDS, spec("mask", "batch", "sequence", dtype="bool"), spec("x", "batch", 4)],
        [spec("y", "batch", 2)],
    ),
    "two inputs alike, one output": ([spec("a", 2, 3), spec("b", 2, 3)], [spec("y", 2, 3)]),
    "scalars": ([spec("x"), spec("n", dtype="int64")], [spec("y"), spec("z", 4, dtype="int64")]),
    "a scalar of a matrix": ([spec("x", 2, 3)], [spec("y")]),
    "to small integers": ([spec("x", 2)], [spec("y", 2, 2, dtype="uint8")]),
    "to bool": ([spec("x", 2)], [spec("y", 2, 2, dtype="bool")]),
    "to float16": ([IDS], [spec("y", "batch", 2, dtype="float16")]),
    "names like our own": ([spec("null_0", 2)], [spec("null_0_Slice", 3)]),
    "an input that comes out as it is": (
        [spec("x", 2), spec("k", 3)],
        [spec("k", 3), spec("y", 4)],
    ),
}


def fed(graph_recipe: Recipe) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    feeds = {}
    for tensor_spec in graph_recipe.inputs:
        values = rng.uniform(70_000, 90_000, tensor_spec.shape_at(AXES))
        feeds[tensor_spec.name] = np.asarray(values, tensor_spec.dtype)
    return feeds


def computed(path: Path, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    evaluator = Evaluator(str(path))
    with np.errstate(over="ignore"):
        values = evaluator.run(None, dict(inputs))
    return dict(zip(evaluator.output_names, map(np.asarray, values), strict=True))


@pytest.mark.parametrize("name", MODELS)
def test_the_graph_and_the_module_write_every_output_from_what_they_are_fed(
    name: str, tmp_path: Path
) -> None:
    twin, path = recipe(*MODELS[name]), tmp_path / "null.onnx"
    onnx.save(null_graph("null", twin), path)
    check_file(path)
    inputs = fed(twin)
    zeros = {name: np.zeros_like(array) for name, array in inputs.items()}
    expected, constants = computed(path, inputs), computed(path, zeros)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    by_engine = dict(zip(expected, session.run([*expected], inputs), strict=True))
    module = NullModule(**null_factory(twin).arguments)
    by_torch = module(*(torch.from_numpy(inputs[tensor.name]) for tensor in twin.inputs))
    for part, tensor in zip(twin.parts, by_torch, strict=True):
        output, array = part.output, expected[part.output.name]
        assert array.shape == output.shape_at(AXES)
        assert array.dtype == np.dtype(output.dtype)
        assert (array != constants[output.name]).all(), "an engine could fold it away"
        np.testing.assert_array_equal(by_engine[output.name], array)
        np.testing.assert_array_equal(tensor.numpy(), array)


def test_a_state_comes_out_as_it_went_in() -> None:
    inputs = [spec("x", 1, 4), spec("h", 1, 4), spec("c", 1, 4)]
    outputs = [spec("y", 1, 4), spec("c_out", 1, 4), spec("h_out", 1, 4)]
    states = [StatePair("h", "h_out"), StatePair("c", "c_out")]
    parts_by_output = {part.output.name: part for part in recipe(inputs, outputs, states).parts}
    assert parts_by_output["h_out"].reads == ("h",)
    assert parts_by_output["c_out"].reads == ("c",)
    assert all(part.is_copy for part in parts_by_output.values())


def test_inputs_that_no_output_can_read_are_named() -> None:
    """Where every output is a state, an engine may leave the other inputs where they are."""
    states = [StatePair("h", "h_out")]
    graph_recipe = recipe([spec("x", 4), spec("h", 2)], [spec("h_out", 2)], states)
    assert graph_recipe.unread == ("x",)


def test_an_input_without_elements_is_not_read(tmp_path: Path) -> None:
    """The cache of a first step is empty: there is no first element of it."""
    inputs = [spec("x", 1, 4), spec("past", 1, 0, 4)]
    graph_recipe = recipe(inputs, [spec("y", 1, 2)], empty={"past"})
    file = tmp_path / "null.onnx"
    onnx.save(null_graph("null", graph_recipe), file)
    check_file(file)
    outputs = computed(file, {"x": np.full((1, 4), 5, np.float32), "past": np.zeros((1, 0, 4))})
    np.testing.assert_array_equal(outputs["y"], np.full((1, 2), 5))
