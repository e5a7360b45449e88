"""Graphs of language models as onnxruntime-genai's builder writes them, and operators of
ONNX Runtime's own domain."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

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


def _product(name: str, source: str, rows: int, columns: int, bits: int) -> tuple[list, list]:
    """A matrix as float32, or as MatMulNBits in blocks of 32; its nodes and constants."""
    weights = draw(rows, columns, seed=len(name) + rows, scale=0.1)
    if not bits:
        return [node("MatMul", [source, f"{name}.w"], [name])], [constant(f"{name}.w", weights)]
    blocks = rows // 32
    packed_weights = (
        np.random.default_rng(rows).integers(0, 256, (columns, blocks, 16)).astype(np.uint8)
    )
    scales = np.full(columns * blocks, 0.01, np.float32)
    product_node = node(
        "MatMulNBits",
        [source, f"{name}.q", f"{name}.s"],
        [name],
        domain=MICROSOFT,
        K=rows,
        N=columns,
        bits=4,
        block_size=32,
    )
    return [product_node], [constant(f"{name}.q", packed_weights), constant(f"{name}.s", scales)]


def _lengths() -> tuple[list[NodeProto], list[TensorProto]]:
    """The lengths that GroupQueryAttention takes, from the mask, as the builder computes them."""
    nodes = [
        node("ReduceSum", ["attention_mask", "last"], ["sums"], keepdims=0),
        node("Sub", ["sums", "one"], ["less"]),
        node("Cast", ["less"], ["seqlens_k"], to=TensorProto.INT32),
        node("Shape", ["attention_mask"], ["shape"]),
        node("Gather", ["shape", "second"], ["length"]),
        node("Cast", ["length"], ["total"], to=TensorProto.INT32),
    ]
    constants = [
        constant("last", np.array([1])),
        constant("one", np.array([1])),
        constant("second", np.array(1)),
    ]
    return nodes, constants


def decoder(bits: int = 0, layers: int = 2, positions: bool = False) -> ModelProto:
    """A decoder with its caches: RMS norms in the default domain, grouped attention, a gate."""
    nodes, constants = _lengths()
    nodes.append(node("Gather", ["table", "input_ids"], ["hidden.0"]))
    constants.append(constant("table", draw(_VOCABULARY, _HIDDEN_SIZE, seed=1)))
    constants.append(constant("cos", np.cos(np.outer(np.arange(512), np.ones(8))).astype("f4")))
    constants.append(constant("sin", np.sin(np.outer(np.arange(512), np.ones(8))).astype("f4")))
    inputs = [
        value("input_ids", INT64, ["batch_size", "sequence_length"]),
        value("attention_mask", INT64, ["batch_size", "total_sequence_length"]),
    ]
    if positions:
        inputs.append(value("position_ids", INT64, ["batch_size", "sequence_length"]))
    outputs = [value("logits", FLOAT, ["batch_size", "sequence_length", _VOCABULARY])]
    for layer in range(layers):
        past_names = [f"past_key_values.{layer}.{part}" for part in ("key", "value")]
        present = [f"present.{layer}.{part}" for part in ("key", "value")]
        inputs += [
            value(n, FLOAT, ["batch_size", _GROUPS, "past_sequence_length", _HEAD])
            for n in past_names
        ]
        outputs += [
            value(n, FLOAT, ["batch_size", _GROUPS, "total_sequence_length", _HEAD])
            for n in present
        ]
        more, weights = _layer(layer, past_names, present, bits, positions)
        nodes += more
        constants += weights
    last, weights = _product("logits", "normed", _HIDDEN_SIZE, _VOCABULARY, 0)
    nodes += [_norm(f"hidden.{layers}", "gamma.last", "normed"), *last]
    constants += [constant("gamma.last", np.ones(_HIDDEN_SIZE, np.float32)), *weights]
    return model(nodes, inputs, outputs, constants, 21, 10, [(MICROSOFT, 1)])


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


def _norm(source: str, gamma: str, target: str) -> NodeProto:
    return node("SimplifiedLayerNormalization", [source, gamma], [target], axis=-1, epsilon=1e-5)


def _layer(
    layer: int, past_names: Sequence[str], present: Sequence[str], bits: int, positions: bool
) -> tuple[list[NodeProto], list[TensorProto]]:
    p, width = f"l{layer}.", _GROUPS * _HEAD
    nodes = [_norm(f"hidden.{layer}", f"{p}gamma", f"{p}n")]
    constants = [constant(f"{p}gamma", np.ones(_HIDDEN_SIZE, np.float32))]
    constants.append(constant(f"{p}gamma2", np.ones(_HIDDEN_SIZE, np.float32)))

    def product(name: str, source: str, rows: int, columns: int) -> None:
        product_nodes, weights = _product(f"{p}{name}", source, rows, columns, bits)
        nodes.extend(product_nodes)
        constants.extend(weights)

    product("q", f"{p}n", _HIDDEN_SIZE, _HEADS * _HEAD)
    product("k", f"{p}n", _HIDDEN_SIZE, width)
    product("v", f"{p}n", _HIDDEN_SIZE, width)
    query, key = f"{p}q", f"{p}k"
    if positions:
        for name in ("q", "k"):
            tables = ["position_ids", "cos", "sin"]
            nodes.append(
                node("RotaryEmbedding", [f"{p}{name}", *tables], [f"{p}{name}r"], domain=MICROSOFT)
            )
        query, key = f"{p}qr", f"{p}kr"
    tables = [] if positions else ["cos", "sin"]
    nodes.append(
        node(
            "GroupQueryAttention",
            [query, key, f"{p}v", *past_names, "seqlens_k", "total", *tables],
            [f"{p}a", *present],
            domain=MICROSOFT,
            num_heads=_HEADS,
            kv_num_heads=_GROUPS,
            do_rotary=0 if positions else 1,
        )
    )
    product("o", f"{p}a", _HEADS * _HEAD, _HIDDEN_SIZE)
    skip = [f"hidden.{layer}", f"{p}o", f"{p}gamma2"]
    nodes.append(
        node(
            "SkipSimplifiedLayerNormalization",
            skip,
            [f"{p}m", "", "", f"{p}sum"],
            domain=MICROSOFT,
            epsilon=1e-5,
        )
    )
    product("gate", f"{p}m", _HIDDEN_SIZE, 128)
    product("up", f"{p}m", _HIDDEN_SIZE, 128)
    nodes.append(node("Sigmoid", [f"{p}gate"], [f"{p}sig"]))
    nodes.append(node("Mul", [f"{p}gate", f"{p}sig"], [f"{p}silu"]))
    nodes.append(node("Mul", [f"{p}silu", f"{p}up"], [f"{p}gated"]))
    product("down", f"{p}gated", 128, _HIDDEN_SIZE)
    nodes.append(node("Add", [f"{p}sum", f"{p}down"], [f"hidden.{layer + 1}"]))
    return nodes, constants


def _direct_lengths() -> ModelProto:
    """Grouped attention whose lengths are inputs of the graph."""
    nodes = [
        node(
            "GroupQueryAttention",
            ["q", "k", "v", "past_key", "past_value", "seqlens_k", "total_sequence_length"],
            ["y", "present_key", "present_value"],
            domain=MICROSOFT,
            num_heads=4,
            kv_num_heads=2,
        )
    ]
    cache: list[int | str | None] = ["batch", 2, "past", 16]
    inputs = [
        value("q", FLOAT, ["batch", "sequence", 64]),
        value("k", FLOAT, ["batch", "sequence", 32]),
        value("v", FLOAT, ["batch", "sequence", 32]),
        value("past_key", FLOAT, cache),
        value("past_value", FLOAT, cache),
        value("seqlens_k", TensorProto.INT32, ["batch"]),
        value("total_sequence_length", TensorProto.INT32, []),
    ]
    outputs = [
        value("y", FLOAT, ["batch", "sequence", 64]),
        value("present_key", FLOAT, ["batch", 2, "past + sequence", 16]),
        value("present_value", FLOAT, ["batch", 2, "past + sequence", 16]),
    ]
    return model(nodes, inputs, outputs, (), 17, 8, [(MICROSOFT, 1)])


def _joined_cache() -> ModelProto:
    """Attention over a cache that the graph joins itself, as transformers' exporter writes it."""
    nodes = [
        node("Gather", ["table", "input_ids"], ["e"]),
        node("Unsqueeze", ["e", "one"], ["new"]),
        node("Concat", ["past_key", "new"], ["present_key"], axis=2),
        node("Transpose", ["present_key"], ["kt"], perm=[0, 1, 3, 2]),
        node("MatMul", ["new", "kt"], ["scores"]),
        node("Cast", ["attention_mask"], ["mask"], to=FLOAT),
        node("Unsqueeze", ["mask", "middle"], ["wide"]),
        node("Add", ["scores", "wide"], ["masked"]),
        node("Softmax", ["masked"], ["p"], axis=-1),
        node("MatMul", ["p", "present_key"], ["o"]),
        node("Gather", ["places", "position_ids"], ["pe"]),
        node("Unsqueeze", ["pe", "one"], ["pw"]),
        node("Add", ["o", "pw"], ["y"]),
    ]
    constants = [
        constant("table", draw(40, 16, seed=1)),
        constant("places", draw(300, 16, seed=2)),
        constant("one", np.array([1])),
        constant("middle", np.array([1, 2])),
    ]
    inputs = [
        value("input_ids", INT64, ["batch", "sequence"]),
        value("attention_mask", INT64, ["batch", "past_sequence + sequence"]),
        value("position_ids", INT64, ["batch", "sequence"]),
        value("past_key", FLOAT, ["batch", 1, "past_sequence", 16]),
    ]
    outputs = [
        value("y", FLOAT, ["batch", 1, "sequence", 16]),
        value("present_key", FLOAT, ["batch", 1, "past_sequence + sequence", 16]),
    ]
    return model(nodes, inputs, outputs, constants, 17)


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

KINDS = (
    one("language models", "decoder", decoder, _SIZES),
    one("language models", "decoder-prefill", decoder, _PREFILL),
    one("language models", "decoder-int4", partial(decoder, bits=4), _SIZES),
    one("language models", "decoder-positions", partial(decoder, positions=True), _SIZES),
    one("language models", "decoder-fp16", half, _SIZES),
    one("language models", "decoder-fp16-prefill", half, _PREFILL),
    one("language models", "decoder-fp16-int4", partial(half, bits=4, positions=True), _SIZES),
    one("language models", "decoder-assumed", open_head),
    one("language models", "direct-lengths", _direct_lengths, ("batch=2", "sequence=1", "past=6")),
    one(
        "language models",
        "joined-cache",
        _joined_cache,
        ("batch=1", "sequence=3", "past_sequence=5"),
    ),
    one(
        "language models",
        "joined-cache-empty",
        _joined_cache,
        ("batch=1", "sequence=3", "past_sequence=0"),
    ),
    one(
        "Microsoft's operators",
        "fused-matmul",
        partial(_microsoft_model, "FusedMatMul", ["x", "w"], alpha=0.5),
    ),
    one("Microsoft's operators", "gelu", partial(_microsoft_model, "Gelu", ["x"])),
    one("Microsoft's operators", "bias-gelu", partial(_microsoft_model, "BiasGelu", ["x", "b"])),
    one("Microsoft's operators", "fast-gelu", partial(_microsoft_model, "FastGelu", ["x", "b"])),
    one("Microsoft's operators", "quick-gelu", partial(_microsoft_model, "QuickGelu", ["x"])),
    one(
        "Microsoft's operators",
        "skip-norm",
        partial(_microsoft_model, "SkipLayerNormalization", ["x", "x", "g", "b"]),
    ),
    one("Microsoft's operators", "fused-conv", _fused_convolution),
    one("Microsoft's operators", "embed-norm", _embedding),
    one("Microsoft's operators", "gather-blocks", _block_gather),
    one("Microsoft's operators", "dynamic-quantised", _dequantised_product),
)
