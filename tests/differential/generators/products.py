"""Nodes of products of matrices, recurrent layers and attention."""

from __future__ import annotations

import numpy as np

from tests.differential.draft import Draft
from tests.differential.generators.table import generator


def _factors(d: Draft) -> tuple[list[int], list[int]]:
    n, k, m = d.integers(1, 5, 3)
    batch = d.shape(0, 2, 0.03)
    a, b = [*d.broadcast(batch), n, k], [*d.broadcast(batch), k, m]
    if d.chance(0.15):
        a = [k]
    if d.chance(0.15):
        b = [k]
    return a, b


@generator("MatMul")
def matmul(d: Draft) -> None:
    a, b = _factors(d)
    d.tensor(a)
    d.tensor(b)


@generator("Gemm")
def gemm(d: Draft) -> None:
    n, k, m = d.integers(1, 5, 3)
    a, b = d.integer(0, 1), d.integer(0, 1)
    d.tensor([k, n] if a else [n, k])
    d.tensor([m, k] if b else [k, m])
    if d.version < 11 or d.chance(0.7):
        d.tensor(d.broadcast([n, m]))
    d.maybe(0.7, transA=a or None, transB=b or None, alpha=d.real(-2, 2), beta=d.real(-2, 2))
    d.set(transA=a, transB=b)


@generator("RNN", "GRU", "LSTM")
def recurrent(d: Draft) -> None:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[d.operator]
    steps, batch, features, hidden_size = d.integers(1, 4, 4)
    direction = d.pick(["forward", "reverse", "bidirectional"])
    both = 2 if direction == "bidirectional" else 1
    layout = int("layout" in d.schema.attributes and d.chance(0.25))
    d.tensor([batch, steps, features] if layout else [steps, batch, features])
    d.tensor([both, gates * hidden_size, features], "T", -1, 1)
    d.tensor([both, gates * hidden_size, hidden_size], "T", -1, 1)
    dtype = d.dtype("T")
    state = [batch, both, hidden_size] if layout else [both, batch, hidden_size]
    d.add(d.values([both, 2 * gates * hidden_size], dtype, -1, 1) if d.chance() else None)
    d.add(d.values([batch], np.int32, 1, steps) if d.chance(0.25) else None)
    d.add(d.values(state, dtype, -1, 1) if d.chance() else None)
    if d.operator == "LSTM":
        d.add(d.values(state, dtype, -1, 1) if d.chance() else None)
        d.add(d.values([both, 3 * hidden_size], dtype, -1, 1) if d.chance(0.25) else None)
        d.maybe(0.2, input_forget=d.integer(0, 1))
    d.set(hidden_size=hidden_size)
    if direction != "forward" or d.chance():
        d.set(direction=direction)
    if layout:
        d.set(layout=1)
    d.maybe(0.15, clip=d.real(0.2, 1.5))
    if d.operator == "GRU":
        d.maybe(linear_before_reset=d.integer(0, 1))
    if d.chance(0.25):
        count = {"RNN": 1, "GRU": 2, "LSTM": 3}[d.operator] * both
        names = ["Sigmoid", "Tanh", "Relu", "Softsign", "Softplus"]
        d.set(activations=[d.pick(names) for _ in range(count)])
    d.outputs = 3 if d.operator == "LSTM" else 2


@generator("Attention")
def attention(d: Draft) -> None:
    batch, heads, width, value_width = d.integers(1, 3, 4)
    queries, keys = d.integers(1, 5, 2)
    group_size = d.integer(1, 2)
    flat = d.chance(0.4)
    dtypes = d.dtype("T1"), d.dtype("T2" if d.chance(0.2) else "T1")

    def part(count: int, length: int, each: int) -> list[int]:
        return [batch, length, count * each] if flat else [batch, count, length, each]

    d.add(d.values(part(heads * group_size, queries, width), dtypes[0]))
    d.add(d.values(part(heads, keys, width), dtypes[0]))
    d.add(d.values(part(heads, keys, value_width), dtypes[1]))
    past_length = d.integer(1, 3) if d.chance(0.3) else 0
    mask = None
    if d.chance():
        kind = np.dtype(np.bool_) if d.chance() else dtypes[0]
        sizes = [queries, keys + past_length]
        if d.chance():
            sizes = [d.pick([1, batch]), d.pick([1, heads * group_size]), *sizes]
        mask = d.values(sizes, kind)
        if kind == np.bool_:
            mask[..., 0] = True
    d.add(mask)
    if past_length:
        d.add(d.values([batch, heads, past_length, width], dtypes[0]))
        d.add(d.values([batch, heads, past_length, value_width], dtypes[1]))
    if flat:
        d.set(q_num_heads=heads * group_size, kv_num_heads=heads)
    d.maybe(0.3, is_causal=1, scale=d.real(0.2, 2), softcap=d.real(0.5, 3))
    d.outputs = d.integer(1, 4) if past_length else d.pick([1, 1, 4])
    if d.outputs == 4:
        d.maybe(qk_matmul_output_mode=d.integer(0, 3))
