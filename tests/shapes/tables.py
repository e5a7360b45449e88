"""Public shapes of language models, state-space models, recommenders, graphs and tables."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, helper

from tests.files.language import decoder
from tests.shapes.net import FLOAT, INT64, LEARNED, STRING, Net

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


def mamba() -> ModelProto:
    """One step of a state-space model: each layer keeps a convolution and a state."""
    n = Net(43)
    ids = n.input("input_ids", "batch_size", 1, element=INT64)
    x = n("Squeeze", n.embedding(ids, 502, 64), [1])
    for layer in range(4):
        seen = n.input(f"conv_states.{layer}", "batch_size", 128, 4)
        state = n.input(f"ssm_states.{layer}", "batch_size", 128, 16)
        inner = n("MatMul", n.norm(x, 64), n.weights(64, 128))
        line = n("Concat", n("Slice", seen, [1], [4], [2]), n("Unsqueeze", inner, [2]), axis=2)
        n.output(line, f"conv_states_out.{layer}")
        mixed = n("ReduceSum", n("Mul", line, n.weights(128, 4)), [2], keepdims=0)
        step = n("Unsqueeze", n("Softplus", n.linear(mixed, 128, 128)), [2])
        decay = n("Exp", n("Mul", step, -np.abs(n.weights(128, 16, scale=1))))
        gate = n("Mul", step, n("Unsqueeze", n("MatMul", mixed, n.weights(128, 16)), [1]))
        new = n("Add", n("Mul", decay, state), n("Mul", gate, n("Unsqueeze", mixed, [2])))
        n.output(new, f"ssm_states_out.{layer}")
        y = n("Squeeze", n("MatMul", new, n.weights(16, 1)), [2])
        x = n("Add", x, n.linear(y, 128, 64))
    n.output(n.linear(x, 64, 502), "logits")
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


_PORTS = ("C", "Q", "S")


def tabular() -> ModelProto:
    """Numbers scaled, texts as one-hot columns, a linear classifier: a pipeline of scikit-learn."""
    n = Net(47)
    numbers = [n.input(name, None, 1) for name in ("age", "fare")]
    texts = {"embarked": _PORTS, "sex": ("female", "male"), "pclass": ("1", "2", "3")}
    columns = []
    for name in numbers:
        columns.append(n("Scaler", name, domain=LEARNED, offset=[30.0], scale=[0.07]))
    for name, words in texts.items():
        column = n.input(name, None, 1, element=STRING)
        hot = n("OneHotEncoder", column, domain=LEARNED, cats_strings=list(words), zeros=1)
        columns.append(n("Reshape", hot, [-1, len(words)]))
    features = n("Concat", *columns, axis=1)
    weights = [float(w) for w in n.weights(20, scale=1)]
    _, scores = n(
        "LinearClassifier",
        features,
        domain=LEARNED,
        count=2,
        coefficients=weights,
        intercepts=[0.1, -0.1],
        classlabels_ints=[0, 1],
        post_transform="LOGISTIC",
    )
    n.output(scores, "probabilities")
    return n.model(domains=[(LEARNED, 3)])


def genai() -> ModelProto:
    return decoder(positions=True)
