"""Graphs of language models as onnxruntime-genai's builder writes them, and operators of
ONNX Runtime's own domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tests.files.kinds import (
    FLOAT,
    INT64,
    MICROSOFT,
    constant,
    draw,
    model,
    node,
    one,
    value,
    written,
)

_HIDDEN_SIZE, _HEADS, _GROUPS, _HEAD, _VOCABULARY = 64, 4, 2, 16, 97
Constants = dict[str, np.ndarray]


def _product(name: str, source: str, rows: int, columns: int, bits: int) -> tuple[str, Constants]:
    """A matrix as float32, or as MatMulNBits in blocks of 32: its node and its weights."""
    if not bits:
        weights = draw(rows, columns, seed=len(name) + rows, scale=0.1)
        return f"{name} = MatMul({source}, {name}__w)", {f"{name}__w": weights}
    blocks = rows // 32
    packed = np.random.default_rng(rows).integers(0, 256, (columns, blocks, 16)).astype(np.uint8)
    scales = np.full(columns * blocks, 0.01, np.float32)
    node_text = f"""{name} = com.microsoft.MatMulNBits
        <K = {rows}, N = {columns}, bits = 4, block_size = 32> ({source}, {name}__q, {name}__s)"""
    return node_text, {f"{name}__q": packed, f"{name}__s": scales}


LENGTHS = """sums = ReduceSum <keepdims = 0> (attention_mask, last) less = Sub(sums, one)
    seqlens_k = Cast <to = 6> (less) shape = Shape(attention_mask)
    length = Gather(shape, second) total = Cast <to = 6> (length)"""
"""The lengths that GroupQueryAttention takes, from the mask, as the builder computes them."""


def decoder(bits: int = 0, layers: int = 2, positions: bool = False) -> ModelProto:
    """A decoder with its caches: RMS norms in the default domain, grouped attention, a gate."""
    tokens, cache = "batch_size,sequence_length", f"batch_size,{_GROUPS},%s_sequence_length,{_HEAD}"
    ends = [f"int64[{tokens}] input_ids", "int64[batch_size,total_sequence_length] attention_mask"]
    ends += [f"int64[{tokens}] position_ids"] if positions else []
    outputs = [f"float[{tokens},{_VOCABULARY}] logits"]
    nodes = [LENGTHS, "hidden__0 = Gather(table, input_ids)"]
    angles = np.outer(np.arange(512), np.ones(8))
    constants: Constants = {"last": np.array([1]), "one": np.array([1]), "second": np.array(1)}
    constants["table"] = draw(_VOCABULARY, _HIDDEN_SIZE, seed=1)
    constants |= {"cos": np.cos(angles).astype("f4"), "sin": np.sin(angles).astype("f4")}
    for layer in range(layers):
        for part in ("key", "value"):
            ends.append(f"float[{cache % 'past'}] past_key_values__{layer}__{part}")
            outputs.append(f"float[{cache % 'total'}] present__{layer}__{part}")
        layer_nodes, weights = _layer(layer, bits, positions)
        nodes += layer_nodes
        constants |= weights
    last, weights = _product("logits", "normed", _HIDDEN_SIZE, _VOCABULARY, 0)
    nodes += [_norm(f"hidden__{layers}", "gamma__last", "normed"), last]
    constants |= {"gamma__last": np.ones(_HIDDEN_SIZE, np.float32), **weights}
    text = f"({', '.join(ends)}) => ({', '.join(outputs)}) {{ {' '.join(nodes)} }}"
    proto = written(text, 21, 10, [(MICROSOFT, 1)], **constants)
    for named in (*proto.graph.input, *proto.graph.output, *proto.graph.initializer):
        named.name = _dotted(named.name)
    for each in proto.graph.node:
        each.input[:], each.output[:] = map(_dotted, each.input), map(_dotted, each.output)
    return proto


def _dotted(name: str) -> str:
    """ONNX's text has no dots in names."""
    return name.replace("__", ".")


def half(**options: Any) -> ModelProto:
    """The decoder in float16, as the builder writes it for GPUs: weights, caches and logits."""
    proto = decoder(**options)
    for end in (*proto.graph.input, *proto.graph.output):
        if end.type.tensor_type.elem_type == FLOAT:
            end.type.tensor_type.elem_type = TensorProto.FLOAT16
    for tensor in proto.graph.initializer:
        if tensor.data_type == FLOAT:
            array = numpy_helper.to_array(tensor).astype(np.float16)
            tensor.CopyFrom(constant(tensor.name, array))
    return proto


def open_head() -> ModelProto:
    """The decoder in 4 bits as the builder writes it: the head size of its caches has a name, and
    each value is declared."""
    decoder_model = decoder(bits=4)
    for end in (*decoder_model.graph.input, *decoder_model.graph.output):
        if end.name.startswith(("past", "present")):
            end.type.tensor_type.shape.dim[3].dim_param = "kv_cache_dim"
    decoder_model.graph.value_info.extend(
        value(f"l{layer}.q", FLOAT, ["batch_size", "sequence_length", _HEADS * _HEAD])
        for layer in range(2)
    )
    return decoder_model


def _norm(source: str, gamma: str, target: str) -> str:
    attributes = "<axis = -1, epsilon = 0.00001>"
    return f"{target} = SimplifiedLayerNormalization {attributes} ({source}, {gamma})"


def _layer(layer: int, bits: int, positions: bool) -> tuple[list[str], Constants]:
    p, width = f"l{layer}__", _GROUPS * _HEAD
    ones = np.ones(_HIDDEN_SIZE, np.float32)
    constants: Constants = {f"{p}gamma": ones, f"{p}gamma2": ones}
    products = {}
    for name, source, rows, columns in (
        ("q", "n", _HIDDEN_SIZE, _HEADS * _HEAD),
        ("k", "n", _HIDDEN_SIZE, width),
        ("v", "n", _HIDDEN_SIZE, width),
        ("o", "a", _HEADS * _HEAD, _HIDDEN_SIZE),
        ("gate", "m", _HIDDEN_SIZE, 128),
        ("up", "m", _HIDDEN_SIZE, 128),
        ("down", "gated", 128, _HIDDEN_SIZE),
    ):
        products[name], weights = _product(f"{p}{name}", f"{p}{source}", rows, columns, bits)
        constants |= weights
    turns = [
        f"{p}{name}r = com.microsoft.RotaryEmbedding({p}{name}, position_ids, cos, sin)"
        for name in ("q", "k")
    ]
    turned, tables = ("r", "") if positions else ("", ", cos, sin")
    past, present = (
        ", ".join(f"{cache}__{layer}__{part}" for part in ("key", "value"))
        for cache in ("past_key_values", "present")
    )
    attention = f"""{p}a, {present} = com.microsoft.GroupQueryAttention
        <num_heads = {_HEADS}, kv_num_heads = {_GROUPS}, do_rotary = {int(not positions)}>
        ({p}q{turned}, {p}k{turned}, {p}v, {past}, seqlens_k, total{tables})"""
    skip = f"""{p}m, , , {p}sum = com.microsoft.SkipSimplifiedLayerNormalization
        <epsilon = 0.00001> (hidden__{layer}, {p}o, {p}gamma2)"""
    gate = f"""{p}sig = Sigmoid({p}gate) {p}silu = Mul({p}gate, {p}sig)
        {p}gated = Mul({p}silu, {p}up)"""
    return [
        _norm(f"hidden__{layer}", f"{p}gamma", f"{p}n"),
        *(products[name] for name in "qkv"),
        *(turns if positions else ()),
        *(attention, products["o"], skip, products["gate"], products["up"], gate),
        *(products["down"], f"hidden__{layer + 1} = Add({p}sum, {p}down)"),
    ], constants


def _direct_lengths() -> ModelProto:
    """Grouped attention whose lengths are inputs of the graph."""
    text = """(float[batch,sequence,64] q, float[batch,sequence,32] k, float[batch,sequence,32] v,
        float[batch,2,past,16] past_key, float[batch,2,past,16] past_value,
        int32[batch] seqlens_k, int32 total_sequence_length)
    => (float[batch,sequence,64] y, float[batch,2,total,16] present_key,
        float[batch,2,total,16] present_value) {
        y, present_key, present_value =
            com.microsoft.GroupQueryAttention <num_heads = 4, kv_num_heads = 2>
            (q, k, v, past_key, past_value, seqlens_k, total_sequence_length)
    }"""
    return _with_total(written(text, 17, 8, [(MICROSOFT, 1)]), "past + sequence")


def _with_total(proto: ModelProto, name: str) -> ModelProto:
    """The axis `total` called by a sum, which ONNX's text cannot write."""
    for end in (*proto.graph.input, *proto.graph.output):
        for dimension in end.type.tensor_type.shape.dim:
            if dimension.dim_param == "total":
                dimension.dim_param = name
    return proto


def _joined_cache() -> ModelProto:
    """Attention over a cache that the graph joins itself, as transformers' exporter writes it."""
    text = """(int64[batch,sequence] input_ids, int64[batch,total] attention_mask,
        int64[batch,sequence] position_ids, float[batch,1,past_sequence,16] past_key)
    => (float[batch,1,sequence,16] y, float[batch,1,total,16] present_key) {
        e = Gather(table, input_ids) new = Unsqueeze(e, one)
        present_key = Concat <axis = 2> (past_key, new)
        kt = Transpose <perm = [0, 1, 3, 2]> (present_key) scores = MatMul(new, kt)
        mask = Cast <to = 1> (attention_mask) wide = Unsqueeze(mask, middle)
        masked = Add(scores, wide) p = Softmax <axis = -1> (masked) o = MatMul(p, present_key)
        pe = Gather(places, position_ids) pw = Unsqueeze(pe, one) y = Add(o, pw)
    }"""
    tables = {"table": draw(40, 16, seed=1), "places": draw(300, 16, seed=2)}
    proto = written(text, **tables, one=np.array([1]), middle=np.array([1, 2]))
    return _with_total(proto, "past_sequence + sequence")


def _microsoft_model(
    op: str, inputs: Sequence[str], width: int = 32, **attributes: Any
) -> ModelProto:
    """One operator of ONNX Runtime's domain on `x`, with constants for its other inputs."""
    sizes = {"w": (width, width), "t": (width,), "b": (width,), "g": (width,)}
    constants = [constant(name, draw(*sizes[name], seed=3)) for name in inputs if name in sizes]
    nodes = [node(op, list(inputs), ["y"], domain=MICROSOFT, **attributes)]
    x = value("x", FLOAT, ["batch", 8, width])
    y = value("y", FLOAT, ["batch", 8, width])
    return model(nodes, [x], [y], constants, 17, 8, [(MICROSOFT, 1)])


def _fused_convolution() -> ModelProto:
    text = """(float[batch,3,10,10] x) => (float[batch,8,8,8] y) {
        y = com.microsoft.FusedConv <activation = "Relu", kernel_shape = [3, 3]> (x, w, b)
    }"""
    return written(text, 17, 8, [(MICROSOFT, 1)], w=draw(8, 3, 3, 3), b=draw(8))


def _embedding() -> ModelProto:
    text = """(int32[batch,12] input_ids, int32[batch,12] segment_ids)
        => (float[batch,12,16] y, int32[batch] i) {
        y, i = com.microsoft.EmbedLayerNormalization(
            input_ids, segment_ids, words, places, segments, g, b)
    }"""
    sizes = {"words": (60, 16), "places": (32, 16), "segments": (2, 16), "g": (16,), "b": (16,)}
    constants = {name: draw(*size, seed=seed) for seed, (name, size) in enumerate(sizes.items(), 1)}
    return written(text, 17, 8, [(MICROSOFT, 1)], **constants)


def _block_gather() -> ModelProto:
    packed_weights = np.random.default_rng(0).integers(0, 256, (50, 16)).astype(np.uint8)
    data = helper.make_tensor(
        "data", TensorProto.UINT4, [50, 32], packed_weights.tobytes(), raw=True
    )
    nodes = [
        node("GatherBlockQuantized", ["data", "ids", "s"], ["y"], domain=MICROSOFT, block_size=16)
    ]
    constants = [data, constant("s", np.full((50, 2), 0.1, np.float32))]
    ids, y = value("ids", INT64, ["batch", 4]), value("y", FLOAT, ["batch", 4, 32])
    return model(nodes, [ids], [y], constants, 21, 10, [(MICROSOFT, 1)])


def _dequantised_product() -> ModelProto:
    text = """(float[batch,32] x) => (float[batch,16] y) {
        y = com.microsoft.DynamicQuantizeMatMul(x, w, s, z)
    }"""
    w = np.random.default_rng(0).integers(-100, 100, (32, 16)).astype(np.int8)
    scale, zero = np.array([0.02], np.float32), np.array([0], np.int8)
    return written(text, 17, 8, [(MICROSOFT, 1)], w=w, s=scale, z=zero)


_SIZES = ("batch_size=1", "sequence_length=4", "past_sequence_length=12")
_PREFILL = ("batch_size=1", "sequence_length=8", "past_sequence_length=0")

_CACHE = ("batch=1", "sequence=3")
_MODELS: dict[str, tuple[Callable[[], ModelProto], Sequence[str]]] = {
    "decoder": (decoder, _SIZES),
    "decoder-prefill": (decoder, _PREFILL),
    "decoder-int4": (partial(decoder, bits=4), _SIZES),
    "decoder-positions": (partial(decoder, positions=True), _SIZES),
    "decoder-fp16": (half, _SIZES),
    "decoder-fp16-prefill": (half, _PREFILL),
    "decoder-fp16-int4": (partial(half, bits=4, positions=True), _SIZES),
    "decoder-assumed": (open_head, ()),
    "direct-lengths": (_direct_lengths, ("batch=2", "sequence=1", "past=6")),
    "joined-cache": (_joined_cache, (*_CACHE, "past_sequence=5")),
    "joined-cache-empty": (_joined_cache, (*_CACHE, "past_sequence=0")),
}
_OPERATORS: dict[str, Callable[[], ModelProto]] = {
    "fused-matmul": partial(_microsoft_model, "FusedMatMul", ["x", "w"], alpha=0.5),
    "gelu": partial(_microsoft_model, "Gelu", ["x"]),
    "bias-gelu": partial(_microsoft_model, "BiasGelu", ["x", "b"]),
    "fast-gelu": partial(_microsoft_model, "FastGelu", ["x", "b"]),
    "quick-gelu": partial(_microsoft_model, "QuickGelu", ["x"]),
    "skip-norm": partial(_microsoft_model, "SkipLayerNormalization", ["x", "x", "g", "b"]),
    "fused-conv": _fused_convolution,
    "embed-norm": _embedding,
    "gather-blocks": _block_gather,
    "dynamic-quantised": _dequantised_product,
}
KINDS = (
    *(one("language models", name, make, sizes) for name, (make, sizes) in _MODELS.items()),
    *(one("Microsoft's operators", name, make) for name, make in _OPERATORS.items()),
)
