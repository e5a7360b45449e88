"""Nodes computed by torch, where it has the operator and the node is of a usual form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from exporters.narrow_types import widen

_SAME_NAME = (
    "Abs Acos Acosh Add Asin Asinh Atan Atanh Ceil Cos Div Erf Exp Floor IsNaN Log MatMul Mul "
    "Neg Pow Reciprocal Relu Round Sigmoid Sin Sqrt Sub Tan Tanh Where"
)
"""Without Cosh and Sinh, infinite in torch from 88.8 on, and Gelu, NaN there for infinity."""
_RENAMED = {
    "And": "logical_and", "BitwiseAnd": "bitwise_and", "BitwiseNot": "bitwise_not",
    "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor", "Equal": "eq", "Greater": "gt",
    "GreaterOrEqual": "ge", "Less": "lt", "LessOrEqual": "le", "Not": "logical_not",
    "Or": "logical_or", "Xor": "logical_xor",
}  # fmt: skip


def compute(model: bytes, inputs: Mapping[str, Any]) -> list[np.ndarray]:
    """The first output; of half precision computed in float32. KeyError of what is unusual."""
    import torch

    graph, (opset, *_) = (proto := onnx.load_from_string(model)).graph, proto.opset_import
    (node,) = graph.node
    schema = onnx.defs.get_schema(node.op_type, opset.version, node.domain)
    known = {n: a.default_value for n, a in schema.attributes.items()}
    values = [v for v in known.values() if v.type] + list(node.attribute)
    a = {v.name: helper.get_attribute_value(v) for v in values}
    if a.get("auto_pad", b"NOTSET") != b"NOTSET" or a.get("ceil_mode") or len(node.output) > 1:
        raise KeyError("auto_pad, ceil_mode or a second output")
    arrays = {w.name: numpy_helper.to_array(w) for w in graph.initializer} | dict(inputs)
    tensors: list[Any] = [_tensor(torch, arrays[n]) if n else None for n in node.input]
    result, kind = _table()[node.op_type](a, opset.version, *tensors), tensors[0].dtype
    if result.is_floating_point() and not kind.is_floating_point and kind != torch.bool:
        result = result.to(kind)
    if np.asarray(arrays[node.input[0]]).dtype == np.float16:
        result = result.to(torch.float16)
    return [np.asarray(result)]


def _tensor(torch: Any, array: Any) -> Any:
    array = widen(np.asarray(array))
    wide = array.astype(np.float32) if array.dtype == np.float16 else array
    return torch.from_numpy(np.array(wide))


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    def compute_reduction(a: dict[str, Any], _: int, x: Any, axes: Any = None) -> Any:
        dims = list(a.get("axes", ()) if axes is None else axes.tolist())
        if not dims and a.get("noop_with_empty_axes"):
            raise KeyError("no axes")
        return function(x, dims or list(range(x.ndim)), bool(a["keepdims"]))

    return compute_reduction


def _padded(torch: Any, a: dict[str, Any], x: Any, value: float = 0) -> Any:
    """With the pads of a node around the spatial axes; torch takes them from the last on."""
    pads, rank = a.get("pads") or [0] * 2 * (x.ndim - 2), x.ndim - 2
    pairs = [(pads[axis], pads[axis + rank]) for axis in reversed(range(rank))]
    return torch.nn.functional.pad(x, [p for pair in pairs for p in pair], value=value)


def _along(a: dict[str, Any], opset: int) -> int:
    if opset < 13:
        raise KeyError("the shape is folded in two")
    return int(a["axis"])


@cache
def _table() -> dict[str, Callable[..., Any]]:
    """By operator: a function of attributes, opset and inputs."""
    import torch

    f = torch.nn.functional
    names = {name: name.lower() for name in _SAME_NAME.split()} | _RENAMED
    same = {n: getattr(torch, name) for n, name in names.items()}

    def conv(a: dict[str, Any], _: int, x: Any, w: Any, bias: Any = None) -> Any:
        ones = [1] * (x.ndim - 2)
        how = {"stride": a.get("strides", ones), "dilation": a.get("dilations", ones)}
        function = getattr(f, f"conv{x.ndim - 2}d")
        return function(_padded(torch, a, x), w, bias, groups=a["group"], **how)

    def pool(a: dict[str, Any], x: Any, value: float) -> Any:
        """The elements of each window, along the last axis."""
        x, kernel = _padded(torch, a, x, value), a["kernel_shape"]
        if set(a.get("dilations", [1])) != {1}:
            raise KeyError("dilations")
        for axis, (size, step) in enumerate(
            zip(kernel, a.get("strides") or [1] * len(kernel), strict=True)
        ):
            x = x.unfold(axis + 2, size, step)
        return x.flatten(-len(kernel))

    def average(a: dict[str, Any], _: int, x: Any) -> Any:
        ones = torch.ones_like(x)
        counts = pool(a, ones, 1 if a.get("count_include_pad") else 0).sum(-1)
        return pool(a, x, 0).sum(-1) / counts

    def gemm(a: dict[str, Any], _: int, x: Any, y: Any, c: Any = 0) -> Any:
        x, y = x.T if a["transA"] else x, y.T if a["transB"] else y
        return a["alpha"] * (x @ y) + a["beta"] * c

    def gather(a: dict[str, Any], _: int, x: Any, i: Any) -> Any:
        axis = a["axis"] % x.ndim
        rows = x.index_select(axis, i.flatten() % x.shape[axis])
        return rows.reshape(*x.shape[:axis], *i.shape, *x.shape[axis + 1 :])

    calls: dict[str, Any] = {n: lambda a, o, *x, g=g: g(*x) for n, g in same.items()}
    reductions: dict[str, Any] = {
        "L1": lambda x, d, k: x.abs().sum(d, k), "L2": lambda x, d, k: (x * x).sum(d, k).sqrt(),
        "LogSum": lambda x, d, k: x.sum(d, k).log(), "LogSumExp": torch.logsumexp,
        "Max": torch.amax, "Mean": torch.mean, "Min": torch.amin, "Sum": torch.sum,
        "SumSquare": lambda x, d, k: (x * x).sum(d, k),
    }  # fmt: skip
    return calls | {f"Reduce{n}": _reduction(g) for n, g in reductions.items()} | {
        "AveragePool": average, "Conv": conv, "Gather": gather, "Gemm": gemm,
        "BatchNormalization": lambda a, o, x, s, b, m, v: f.batch_norm(
            x, m, v, s, b, eps=a["epsilon"]),
        "Celu": lambda a, o, x: f.celu(x, a["alpha"]),
        "Concat": lambda a, o, *x: torch.cat(x, a["axis"]),
        "Einsum": lambda a, o, *x: torch.einsum(a["equation"].decode(), *x),
        "Elu": lambda a, o, x: f.elu(x, a["alpha"]),
        "GatherElements": lambda a, o, x, i: torch.gather(x, a["axis"], i % x.shape[a["axis"]]),
        "GlobalAveragePool": lambda a, o, x: x.flatten(2).mean(-1).reshape(
            *x.shape[:2], *[1] * (x.ndim - 2)),
        "HardSigmoid": lambda a, o, x: (a["alpha"] * x + a["beta"]).clip(0, 1),
        "HardSwish": lambda a, o, x: f.hardswish(x),
        "InstanceNormalization": lambda a, o, x, s, b: f.instance_norm(
            x, weight=s, bias=b, eps=a["epsilon"]),
        "LayerNormalization": lambda a, o, x, s, b=None: f.layer_norm(
            x, x.shape[a["axis"]:], s, b, a["epsilon"]),
        "LeakyRelu": lambda a, o, x: f.leaky_relu(x, a["alpha"]),
        "LogSoftmax": lambda a, o, x: x.log_softmax(_along(a, o)),
        "MaxPool": lambda a, o, x: pool(a, x, -math.inf).amax(-1),
        "Mish": lambda a, o, x: f.mish(x),
        "PRelu": lambda a, o, x, slope: torch.where(x < 0, slope * x, x),
        "Selu": lambda a, o, x: a["gamma"] * f.elu(x, a["alpha"]),
        "Softmax": lambda a, o, x: x.softmax(_along(a, o)),
        "Softplus": lambda a, o, x: f.softplus(x),
        "Softsign": lambda a, o, x: f.softsign(x),
        "Transpose": lambda a, o, x: x.permute(a.get("perm") or list(reversed(range(x.ndim)))),
    }  # fmt: skip
