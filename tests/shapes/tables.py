"""Public shapes of language models, recommenders and graphs."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, helper

from tests.files.language import decoder
from tests.shapes.net import FLOAT, INT64, Net

_WIDTH, _HEADS, _LAYERS = 64, 4, 2


def llama() -> ModelProto:
    """As optimum names it, with positions and a mask over what is past too."""
    n = Net(40)
    ids = n.input("input_ids", "batch_size", "sequence_length", element=INT64)
    mask = n.input(
        "attention_mask", "batch_size", "past_sequence_length + sequence_length", element=INT64
    )
    positions = n.input("position_ids", "batch_size", "sequence_length", element=INT64)
    sizes = "batch_size", _HEADS, "past_sequence_length", 16
    pasts = [
        [n.input(f"past_key_values.{layer}.{part}", *sizes) for part in ("key", "value")]
        for layer in range(_LAYERS)
    ]
    angle = n("Mul", n("Unsqueeze", n("Cast", positions, to=FLOAT), [2]), n.weights(64, scale=1))
    x = n("Add", n.embedding(ids, 320, _WIDTH), n("Cos", angle))
    for layer, past in enumerate(pasts):
        x, *present = n.cached(x, past, _WIDTH, _HEADS, n.hidden(mask))
        for part, tensor in zip(("key", "value"), present, strict=True):
            n.output(tensor, f"present.{layer}.{part}")
    n.output(n.linear(x, _WIDTH, 320), "logits")
    return n.model()


def bert() -> ModelProto:
    n = Net(42)
    names = "input_ids", "attention_mask", "token_type_ids"
    ids, mask, kinds = (n.input(name, "batch", "sequence", element=INT64) for name in names)
    positions = n("Slice", n.weights(512, 64, scale=0.1), [0], n.size(ids, 1), [0])
    x = n("Add", n("Add", n.embedding(ids, 3052, 64), n.embedding(kinds, 2, 64)), positions)
    for _ in range(2):
        x = n.block(x, 64, 4, n.hidden(mask))
    for name in ("start_logits", "end_logits"):
        n.output(n("Squeeze", n.linear(x, 64, 1), [2]), name)
    return n.model()


def dlrm() -> ModelProto:
    """Bags of ids: offsets say where each bag begins, a loop sums the rows of each."""
    n = Net(45)
    dense = n.input("dense_x", "batch_size", 13)
    offsets = n.input("offsets", 4, "batch_size", element=INT64)
    indices = n.input("indices", 4, "ids", element=INT64)
    x = n("Relu", n.linear(n("Relu", n.linear(dense, 13, 64)), 64, 16))
    vectors = [x]
    for table in range(4):
        begins, ids = (n("Gather", name, np.array(table)) for name in (offsets, indices))
        ends = n("Concat", n("Slice", begins, [1], [10**9], [0]), n("Shape", ids), axis=0)
        rows = n.embedding(ids, 1000 * (table + 1), 16)
        body = _bag(begins, ends, rows, table)
        sums = n("Loop", n("Squeeze", n.size(begins, 0), [0]), np.array(True), body=body)
        vectors.append(sums)
    joined = n("Concat", *(n("Unsqueeze", v, [1]) for v in vectors), axis=1)
    pairs = n("MatMul", joined, n("Transpose", joined, perm=[0, 2, 1]))
    top = n("Concat", x, n("Reshape", pairs, [-1, 25]), axis=1)
    n.output(n("Sigmoid", n.linear(n("Relu", n.linear(top, 41, 64)), 64, 1)), "pred")
    return n.model()


def _bag(begins: str, ends: str, rows: str, table: int) -> object:
    b = Net(table)
    begin, end = (b("Unsqueeze", b("Gather", name, f"at{table}"), [0]) for name in (begins, ends))
    total = b("ReduceSum", b("Slice", rows, begin, end, [0]), [0], keepdims=0)
    go = b("Identity", f"go{table}")
    body = b.branch(go, total)
    body.output[0].CopyFrom(helper.make_tensor_value_info(go, 9, []))
    body.input.extend(
        [
            helper.make_tensor_value_info(f"at{table}", INT64, []),
            helper.make_tensor_value_info(f"go{table}", 9, []),
        ]
    )
    return body


def graph_network() -> ModelProto:
    """Messages along edges, summed by node."""
    n = Net(46)
    x = n.input("x", "num_nodes", 143)
    edges = n.input("edge_index", 2, "num_edges", element=INT64)
    source, target = (n("Gather", edges, np.array(place)) for place in range(2))
    for width, out in ((143, 16), (16, 7)):
        x = n.linear(x, width, out)
        messages = n("Gather", x, source)
        index = n("Expand", n("Unsqueeze", target, [1]), n("Shape", messages))
        zeros = n("Mul", x, 0.0)
        x = n("Relu", n("ScatterElements", zeros, index, messages, axis=0, reduction="add"))
    n.output(n("LogSoftmax", x, axis=1), "out")
    return n.model()


def genai() -> ModelProto:
    return decoder(positions=True)
