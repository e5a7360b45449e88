"""Sizes of a step with a decoder's caches, and sizes that are found by trial runs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from app.plan.expand import expand, sizes_assumed
from app.plan.plan import parse_plan
from exporters.agreement import Bound
from exporters.onnx_files.evaluator import FileEvaluator
from exporters.onnx_files.input_roles import cache_inputs
from exporters.onnx_files.model_io import inspect
from exporters.onnx_files.trial import SEARCH_S
from exporters.types import NoReference
from tests.exporters.support import model_of, runs, sized
from tests.files.language import decoder


def joined() -> ModelProto:
    """Attention over caches that the graph joins itself, kept with their places moved."""
    cache = "float[batch,past_length,2,16]"
    parts = " ".join(
        f"""{part}_t = Transpose <perm = [0, 2, 1, 3]> (past_{part}_0)
        {part}_n = Transpose <perm = [0, 2, 1, 3]> (k)
        {part}_all = Concat <axis = -2> ({part}_t, {part}_n)
        present_{part}_0 = Identity({part}_all)"""
        for part in ("key", "value")
    )
    text = f"""(int64[batch,sequence] input_ids, int64[batch,total_length] attention_mask,
        {cache} past_key_0, {cache} past_value_0)
    => (float[] y, float[] mask, float[] present_key_0, float[] present_value_0) {{
        h = Gather(table, input_ids) k = Reshape(h, heads) {parts}
        key_last = Transpose <perm = [0, 1, 3, 2]> (key_all) scores = MatMul(key_n, key_last)
        y = MatMul(scores, value_all) mask = Cast <to = 1> (attention_mask)
    }}"""
    weights = {"table": np.zeros((40, 32), np.float32), "heads": np.array([0, 0, 2, 16])}
    return model_of(text, weights)


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


JOINED: dict[str, tuple[str, dict[str, int], dict[str, int]]] = {
    # As optimum merges a decoder with and without caches.
    "in a branch": (
        """(float[batch,2,steps,16] new, float[batch,2,kept,16] past, bool[1] use_cache)
        => (float[] present) { n = Relu(new) present = If (use_cache) <
            then_branch = t () => (float[batch,2,?,16] all) { all = Concat <axis = 2> (past, n) },
            else_branch = e () => (float[batch,2,?,16] n2) { n2 = Identity(n) }
        > }""",
        {"past": 2},
        {"batch": 1, "steps": 1, "kept": 127},
    ),
    "and not given back": (
        """(float[batch,time,8] x, float[batch,past,8] past_frames) => (float[] y) {
            r = Relu(x) all = Concat <axis = 1> (past_frames, r) y = ReduceMean(all) }""",
        {},
        {"batch": 1, "time": 128, "past": 128},
    ),
    # Layers, batch, heads, past, width: recognisers of speech keep all caches in one input.
    "as a part of a large one": (
        """(float[b,2,new,8] chunk, float[2,b,2,kept,8] memory) => (float[] next) {
            one = Gather <axis = 0> (memory, zero) n = Relu(chunk)
            all = Concat <axis = 2> (one, n) wide = Unsqueeze(all, first)
            next = Concat <axis = 0> (wide, wide) }""",
        {"memory": 3},
        {"b": 1, "new": 1, "kept": 127},
    ),
    "to a chunk of fixed length": (
        """(float[batch,16,8] chunk, float[batch,past,8] kept) => (float[] next) {
            n = Relu(chunk) next = Concat <axis = 1> (kept, n) }""",
        {"kept": 1},
        {"batch": 1, "past": 127},
    ),
}


@pytest.mark.parametrize("kind", JOINED)
def test_what_is_joined_and_given_back_is_a_cache(tmp_path: Path, kind: str) -> None:
    text, caches, sizes = JOINED[kind]
    model = model_of(text, {"zero": np.array(0), "first": np.array([0])})
    assert {name: cache.axis for name, cache in cache_inputs(model.graph).items()} == caches
    found = sized(tmp_path, model)
    assert found.assumed == sizes
    steps = {"steps", "new"} & {*sizes}
    assert found.past == ("kept" if steps else ""), "a step of one token"


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


NUMBERS = {f"n{place}": np.array([place]) for place in range(3)}


@pytest.mark.parametrize("length", [64, 50, 300])
@pytest.mark.parametrize("is_hidden", [False, True])
def test_heads_of_one_length_imply_it(tmp_path: Path, length: int, is_hidden: bool) -> None:
    """Attention traced at one length, whose batch follows the input. Where a node that inference
    does not know stands before it, only a run can tell."""
    same = """places = NonZero(ones) flat = Reshape(places, last)
        same = Gather <axis = 2> (x, flat)"""
    text = f"""(float[batch,sequence,48] x) => (float[] y) {{
        s = Shape(x) rows = Gather(s, n0) heads = Mul(rows, four)
        target = Concat <axis = 0> (length, heads, width)
        {same if is_hidden else "same = Identity(x)"} first = Transpose <perm = [1, 0, 2]> (same)
        split = Reshape(first, target) y = Softmax(split)
    }}"""
    vectors = {"four": [4], "length": [length], "width": [12], "last": [-1]}
    weights = {**NUMBERS, **{name: np.array(vector) for name, vector in vectors.items()}}
    model = model_of(text, {**weights, "ones": np.ones(48, np.float32)})
    found = sized(tmp_path, model)
    assert found.assumed == {"batch": 1, "sequence": length}
    runs(tmp_path, found)


@pytest.mark.parametrize("offset", [0, 2])
@pytest.mark.parametrize("rows", [38, 514])
def test_a_table_of_positions_bounds_the_sequence(tmp_path: Path, rows: int, offset: int) -> None:
    """Positions that the graph counts itself, from an offset on."""
    text = """(int64[batch,sequence] ids) => (float[] y) {
        e = Gather(words, ids) s = Shape(ids) ones = ConstantOfShape <value = int64[1] {1}> (s)
        counted = CumSum(ones, last) positions = Add(counted, start)
        p = Gather(table, positions) y = Add(e, p)
    }"""
    weights = {name: np.zeros((n, 8), np.float32) for name, n in (("words", 40), ("table", rows))}
    weights |= {"last": np.array(1), "start": np.array(offset - 1)}
    found = sized(tmp_path, model_of(text, weights))
    assert 16 <= found.assumed["sequence"] <= min(128, rows - offset)
    runs(tmp_path, found)


def test_a_sliced_table_bounds_what_is_added_to_it(tmp_path: Path) -> None:
    text = """(float[batch,tokens,8] x) => (float[] y) {
        s = Shape(x) rows = Gather(s, n1) positions = Slice(table, n0, rows, n1)
        y = Add(x, positions)
    }"""
    weights = {**NUMBERS, "table": np.zeros((1, 38, 8), np.float32)}
    found = sized(tmp_path, model_of(text, weights))
    assert 16 <= found.assumed["tokens"] <= 38
    runs(tmp_path, found)


def test_an_image_has_the_sides_that_its_patches_need(tmp_path: Path) -> None:
    text = """(float[n,3,h,width] x) => (float[] y) {
        patches = Conv <strides = [16, 16]> (x, w) s = Shape(patches) rows = Gather(s, n0)
        target = Concat <axis = 0> (rows, rest) y = Reshape(patches, target)
    }"""
    weights = {**NUMBERS, "w": np.zeros((8, 3, 16, 16), np.float32), "rest": np.array([8, 24 * 24])}
    found = sized(tmp_path, model_of(text, weights))
    assert found.assumed == {"n": 1, "h": 384, "width": 384}
    runs(tmp_path, found)


def test_results_that_would_be_too_large_halve_the_sizes(tmp_path: Path) -> None:
    text = """(float[b,h,w,8] x) => (float[] y) {
        columns = Reshape(x, wide) y = Expand(columns, many)
    }"""
    weights = {"wide": np.array([1, 1, -1, 1, 8]), "many": np.array([64, 1, 1, 64, 8])}
    found = sized(tmp_path, model_of(text, weights))
    side = found.assumed["h"]
    assert found.assumed == {"b": 1, "h": side, "w": side}
    assert side < 224
    assert 64 * 64 * 8 * side * side * 4 <= 256 << 20
    runs(tmp_path, found)


def test_a_file_that_no_size_helps_keeps_the_usual_ones(tmp_path: Path) -> None:
    text = """(float[batch,seq] x) => (int64[] y) {
        places = NonZero(x) p = Gather(table, ten) y = Add(places, p)
    }"""
    model = model_of(text, {"table": np.zeros(3, np.int64), "ten": np.array([10])})
    assert sized(tmp_path, model).assumed == {"batch": 1, "seq": 128}


def test_a_run_that_lasts_is_ended(tmp_path: Path) -> None:
    """Nodes without end: the search gives up within its time, and the usual sizes stay."""
    text = """(float[batch,seq,8] x) => (float[] y) {
        y = Loop (, true, x) <body = b (int64 i, bool go, float[] state)
            => (bool on, float[] next) { next = Add(state, step) on = Identity(go) }>
    }"""
    weights = {"true": np.array(True), "step": np.array(1, np.float32)}
    begin = time.monotonic()
    assert sized(tmp_path, model_of(text, weights)).assumed == {"batch": 1, "seq": 128}
    assert time.monotonic() - begin < 4 * SEARCH_S


def test_a_size_that_does_not_fit_is_refused_with_one_that_does(tmp_path: Path) -> None:
    """Of a length that the user gave."""
    text = "(float[sequence,1,192] x) => (float[64,4,48] y) { y = Reshape(x, target) }"
    found = sized(tmp_path, model_of(text, {"target": np.array([64, 4, 48])}))
    assert found.assumed == {"sequence": 64}
    path = tmp_path / "model.onnx"
    (output,) = inspect(path).outputs
    evaluator = FileEvaluator("model.onnx", path, [output], found.inputs)
    inputs = {"x": np.zeros((128, 1, 192), np.float32)}
    with pytest.raises(NoReference) as refusal:
        evaluator.computed(inputs, {"sequence": 128}, Bound(1e-5))
    assert "--axis sequence=64" in refusal.value.remedy
