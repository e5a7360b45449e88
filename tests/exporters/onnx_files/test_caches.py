"""Caches of decoders whatever they are called, and the sizes of a step with them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from app.plan.expand import expand, sizes_assumed
from app.plan.plan import parse_plan
from exporters.messages import Outline, OutlineRequest
from exporters.onnx_files.caches import cache_inputs
from exporters.onnx_files.outline import outline
from tests.exporters.support import graph, tensor
from tests.files.language import decoder

INT64 = TensorProto.INT64
node = helper.make_node


def sized(folder: Path, model: ModelProto) -> Outline:
    onnx.save(model, folder / "model.onnx")
    return outline(OutlineRequest(str(folder / "model.onnx")))


def joined() -> ModelProto:
    """Attention over caches that the graph joins itself, kept with their places moved."""
    cache: list[int | str | None] = ["batch", "past_length", 2, 16]
    inputs = [
        tensor("input_ids", ["batch", "sequence"], INT64),
        tensor("attention_mask", ["batch", "total_length"], INT64),
        tensor("past_key_0", cache),
        tensor("past_value_0", cache),
    ]
    weights = {"table": np.zeros((40, 32), np.float32), "heads": np.array([0, 0, 2, 16])}
    nodes = [node("Gather", ["table", "input_ids"], ["h"]), node("Reshape", ["h", "heads"], ["k"])]
    for part in ("key", "value"):
        nodes += [
            node("Transpose", [f"past_{part}_0"], [f"{part}_t"], perm=[0, 2, 1, 3]),
            node("Transpose", ["k"], [f"{part}_n"], perm=[0, 2, 1, 3]),
            node("Concat", [f"{part}_t", f"{part}_n"], [f"{part}_all"], axis=-2),
            node("Identity", [f"{part}_all"], [f"present_{part}_0"]),
        ]
    nodes += [
        node("Transpose", ["key_all"], ["key_last"], perm=[0, 1, 3, 2]),
        node("MatMul", ["key_n", "key_last"], ["scores"]),
        node("MatMul", ["scores", "value_all"], ["y"]),
        node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
    ]
    outputs = [tensor(name, None) for name in ("y", "mask", "present_key_0", "present_value_0")]
    return graph(nodes, inputs, outputs, weights)


def renamed(model: ModelProto, axes: Mapping[str, str], inputs: Mapping[str, str]) -> ModelProto:
    """The same graph with other names of axes and inputs; "" for an axis without one."""
    for value in (*model.graph.input, *model.graph.output):
        value.name = inputs.get(value.name, value.name)
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param in axes:
                new_name = axes[dimension.dim_param]
                dimension.ClearField("value")
                if new_name:
                    dimension.dim_param = new_name
    for each in model.graph.node:
        each.input[:] = [inputs.get(name, name) for name in each.input]
    return model


AXES = ("batch", "sequence", "past_length", "total_length")
NONSENSE = {"past_key_0": "alpha", "past_value_0": "beta", "input_ids": "gamma"}


@pytest.mark.parametrize("inputs", [{}, NONSENSE])
@pytest.mark.parametrize(
    "names",
    [AXES, ("batch_size", "seq_len", "cache_len", "cache_len + seq_len"), ("B", "Q", "M", "K"),
     ("", "", "", "")],
)  # fmt: skip
def test_a_decoder_gets_one_token_after_those_in_its_caches(
    tmp_path: Path, names: tuple[str, ...], inputs: Mapping[str, str]
) -> None:
    model = renamed(joined(), dict(zip(AXES, names, strict=True)), inputs)
    caches = cache_inputs(model.graph)
    expected = {inputs.get(name, name) for name in ("past_key_0", "past_value_0")}
    assert {name: cache.axis for name, cache in caches.items()} == dict.fromkeys(expected, 1)
    found = sized(tmp_path, model)
    ids, mask, key, value = (spec.shape_at(found.assumed) for spec in found.inputs)
    assert ids == (1, 1)
    assert mask == (1, 128)
    assert key[1:] == value[1:] == (127, 2, 16)
    assert found.assumed[found.past] == 127
    assert found.prefill == {found.inputs[0].shape[1]: 128}


@pytest.mark.parametrize("names", [("past_sequence_length", "sequence_length"), ("foo", "bar")])
def test_what_attention_takes_as_caches_are_caches(tmp_path: Path, names: tuple[str, str]) -> None:
    axes = dict(zip(("past_sequence_length", "sequence_length"), names, strict=True))
    parts = [f"past_key_values.{layer}.{part}" for layer in range(2) for part in ("key", "value")]
    model = renamed(decoder(), axes, {name: f"i{place}" for place, name in enumerate(parts)})
    assert {n: c.axis for n, c in cache_inputs(model.graph).items()} == {
        f"i{place}": 2 for place in range(4)
    }
    found = sized(tmp_path, model)
    assert found.past == names[0]
    assert found.prefill == {names[1]: 128}
    assert found.assumed[names[0]] == 127
    assert found.assumed[names[1]] == 1
    assert found.assumed["total_sequence_length"] == 128


def test_a_cache_that_a_branch_joins_is_one(tmp_path: Path) -> None:
    """As optimum merges a decoder with and without caches."""
    result = tensor("all", ["batch", 2, None, 16])
    joins = helper.make_graph([node("Concat", ["past", "n"], ["all"], axis=2)], "t", [], [result])
    result = tensor("n2", ["batch", 2, None, 16])
    takes = helper.make_graph([node("Identity", ["n"], ["n2"])], "e", [], [result])
    nodes = [
        node("Relu", ["new"], ["n"]),
        node("If", ["use_cache"], ["present"], then_branch=joins, else_branch=takes),
    ]
    inputs = [
        tensor("new", ["batch", 2, "steps", 16]),
        tensor("past", ["batch", 2, "kept", 16]),
        tensor("use_cache", [1], TensorProto.BOOL),
    ]
    found = sized(tmp_path, graph(nodes, inputs, [tensor("present", None)]))
    assert found.assumed == {"batch": 1, "steps": 1, "kept": 127}


def test_what_is_joined_and_not_given_back_is_no_cache(tmp_path: Path) -> None:
    nodes = [
        node("Relu", ["x"], ["r"]),
        node("Concat", ["past_frames", "r"], ["all"], axis=1),
        node("ReduceMean", ["all"], ["y"]),
    ]
    inputs = [tensor("x", ["batch", "time", 8]), tensor("past_frames", ["batch", "past", 8])]
    model = graph(nodes, inputs, [tensor("y", None)])
    assert cache_inputs(model.graph) == {}
    found = sized(tmp_path, model)
    assert found.assumed == {"batch": 1, "time": 128, "past": 128}
    assert not found.past


def test_nothing_past_is_the_prefill(tmp_path: Path) -> None:
    model = renamed(joined(), {"past_length": "M", "sequence": "Q"}, {})
    onnx.save(model, tmp_path / "net.onnx")
    path = str(tmp_path / "net.onnx")

    def sizes(**axes: list[int]) -> list[tuple[int, int, int]]:
        grid = {"models": [path], "runtimes": ["fake"], "axes": axes}
        cases = expand(parse_plan({"sweeps": [grid]}, "the plan"))
        return [(c.axes["M"], c.axes["Q"], c.axes["total_length"]) for c in cases]

    assert sizes() == [(127, 1, 128)]
    assert sizes(M=[0]) == [(0, 128, 128)]
    assert sorted(sizes(M=[0, 300])) == [(0, 128, 128), (300, 1, 301)]
    assert sizes(M=[0], Q=[5]) == [(0, 5, 5)]
    grid = {"models": [path], "runtimes": ["fake"], "axes": {"M": [0]}}
    assumed = sizes_assumed(parse_plan({"sweeps": [grid]}, "the plan"))[path]
    assert assumed["Q"] == 128


def test_a_part_of_one_large_cache_is_a_cache(tmp_path: Path) -> None:
    """Layers, batch, heads, past, width: as recognisers of speech keep all caches in one input."""
    nodes = [
        node("Gather", ["memory", "layer"], ["one"], axis=0),
        node("Relu", ["chunk"], ["n"]),
        node("Concat", ["one", "n"], ["all"], axis=2),
        node("Unsqueeze", ["all", "first"], ["wide"]),
        node("Concat", ["wide", "wide"], ["next"], axis=0),
    ]
    inputs = [
        tensor("chunk", ["b", 2, "new", 8]),
        tensor("memory", [2, "b", 2, "kept", 8]),
    ]
    weights = {"layer": np.array(0), "first": np.array([0])}
    model = graph(nodes, inputs, [tensor("next", None)], weights)
    assert {name: cache.axis for name, cache in cache_inputs(model.graph).items()} == {"memory": 3}
    assert sized(tmp_path, model).assumed == {"b": 1, "new": 1, "kept": 127}


def test_a_chunk_of_fixed_length_is_no_step_of_one_token(tmp_path: Path) -> None:
    nodes = [node("Relu", ["chunk"], ["n"]), node("Concat", ["kept", "n"], ["next"], axis=1)]
    inputs = [tensor("chunk", ["batch", 16, 8]), tensor("kept", ["batch", "past", 8])]
    found = sized(tmp_path, graph(nodes, inputs, [tensor("next", None)]))
    assert found.assumed == {"batch": 1, "past": 127}
    assert not found.past
