"""Nodes of operators that reduce, normalise, sort or accumulate along axes."""

from __future__ import annotations

import numpy as np

from tests.differential.draft import Draft, kind_of
from tests.differential.generators.table import generator

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


@generator("Unique")
def unique(d: Draft) -> None:
    x = d.tensor(d.shape(1, 3, 0), "T", -2, 2)
    d.inputs[0] = np.round(x).astype(x.dtype) if kind_of(x.dtype) == "f" else x
    d.maybe(axis=d.axis(x.ndim), sorted=d.integer(0, 1))
    d.outputs = d.integer(1, 4)


@generator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(d: Draft) -> None:
    d.tensor([d.integer(1, 3), d.integer(1, 4), *d.shape(1, 3, 0)])
    d.maybe(p=d.integer(1, 3))
