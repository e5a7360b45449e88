"""Nodes of operators that reduce, normalise, sort or accumulate along axes."""

from __future__ import annotations

import numpy as np

from tests.differential.draft import Draft, generator

_REDUCTIONS = ["L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]


@generator(*(f"Reduce{kind}" for kind in _REDUCTIONS))
def reduce(d: Draft) -> None:
    low = 0.2 if d.operator == "ReduceLogSum" else -3
    empty = 0.0 if d.operator in ("ReduceMax", "ReduceMin", "ReduceMean") else 0.05
    x = d.tensor(d.shape(0, 4, empty), "T", low, 3)
    as_input = "axes" not in d.schema.attributes
    axes = d.axes(x.ndim, 0 if as_input else 1) if x.ndim else []
    if axes or as_input:
        present = d.chance(0.75)
        d.add(np.array(axes, np.int64) if present else None, "axes", constant=0.5)
    d.maybe(keepdims=d.integer(0, 1), noop_with_empty_axes=d.integer(0, 1))


@generator("Softmax", "LogSoftmax", "Hardmax")
def softmax(d: Draft) -> None:
    x = d.tensor(d.shape(1, 4))
    if d.chance(0.2):
        d.inputs[0] = np.round(x).astype(x.dtype)
    d.maybe(0.8, axis=d.axis(x.ndim) if d.takes_negative else d.integer(0, x.ndim - 1))


@generator("LpNormalization")
def lp_normalise(d: Draft) -> None:
    x = d.tensor(d.shape(1, 4))
    if d.chance(0.2):
        x *= 0
    d.maybe(axis=d.axis(x.ndim), p=d.integer(1, 2))


@generator("MeanVarianceNormalization")
def mean_variance(d: Draft) -> None:
    x = d.tensor(d.shape(4, 4, 0))
    d.maybe(axes=sorted(d.integer(0, 1) * -x.ndim + int(a) for a in d.rng.permutation(x.ndim)[:2]))


@generator("LRN")
def lrn(d: Draft) -> None:
    d.tensor([d.integer(1, 3), d.integer(1, 8), *d.shape(2, 2, 0)])
    d.set(size=d.integer(1, 7) if d.chance(0.1) else d.pick([1, 3, 5, 7]))
    d.maybe(alpha=d.real(1e-4, 1), beta=d.real(0.2, 1), bias=d.real(0.5, 2))


@generator("BatchNormalization")
def batch_norm(d: Draft) -> None:
    shape = [d.integer(1, 3), d.integer(1, 4), *d.shape(0, 3, 0)]
    dtype = d.tensor(shape, "T").dtype
    other_dtypes = [d.dtype(p) if d.allowed(p) else dtype for p in ("T1", "T2")]
    channels = [shape[1]]
    d.add(d.values(channels, other_dtypes[0]))
    d.add(d.values(channels, other_dtypes[0]))
    d.add(d.values(channels, other_dtypes[1]))
    d.add(d.values(channels, other_dtypes[1], 0.1, 2))
    d.maybe(epsilon=d.real(1e-5, 1e-1), momentum=d.real(0.1, 0.95))
    if d.version >= 14 and d.chance(0.3):
        d.set(training_mode=1)
        d.outputs = 3


@generator("InstanceNormalization")
def instance_norm(d: Draft) -> None:
    shape = [d.integer(1, 3), d.integer(1, 4), *d.shape(1, 3, 0)]
    d.tensor(shape)
    d.tensor(shape[1:2])
    d.tensor(shape[1:2])
    d.maybe(epsilon=d.real(1e-5, 1e-1))


@generator("GroupNormalization")
def group_norm(d: Draft) -> None:
    groups = d.integer(1, 3)
    channels = groups * d.integer(1, 3)
    d.tensor([d.integer(1, 2), channels, *d.shape(1, 2, 0)])
    count = groups if d.version < 21 else channels
    d.tensor([count])
    d.tensor([count])
    d.set(num_groups=groups)
    d.maybe(epsilon=d.real(1e-5, 1e-1))


@generator("LayerNormalization", "RMSNormalization")
def layer_norm(d: Draft) -> None:
    shape = d.shape(1, 4, 0)
    d.tensor(shape)
    axis = d.axis(len(shape))
    scale = "T" if d.operator == "LayerNormalization" else "V"
    d.tensor(shape[axis:], scale)
    if d.operator == "LayerNormalization":
        if d.chance():
            d.tensor(shape[axis:])
        d.outputs = d.integer(1, 3)
    if axis != -1 or d.chance():
        d.set(axis=axis)
    d.maybe(epsilon=d.real(1e-5, 1e-1))


@generator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(d: Draft) -> None:
    d.tensor([d.integer(1, 3), d.integer(1, 4), *d.shape(1, 3, 0)])
    d.maybe(p=d.integer(1, 3))


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


@generator("GRU", "LSTM")
def recurrent(d: Draft) -> None:
    gates = {"GRU": 3, "LSTM": 4}[d.operator]
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
        count = {"GRU": 2, "LSTM": 3}[d.operator] * both
        names = ["Sigmoid", "Tanh", "Relu", "Softsign", "Softplus"]
        d.set(activations=[d.pick(names) for _ in range(count)])
    d.outputs = 3 if d.operator == "LSTM" else 2
