"""From TensorRT's layers to the placement and the times of operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from runtimes.execution import NodePlacement, OpTime
from runtimes.session.precision import UNKNOWN
from runtimes.trt.layers import Layer, layers_of
from runtimes.trt.products import precision_of


def placement(layers: Sequence[Layer], provider: str) -> tuple[NodePlacement, ...]:
    """One entry a layer that computes."""
    return tuple(
        NodePlacement(layer.name, layer.kind, provider, precision_of(layer))
        for layer in layers
        if layer.computes
    )


def op_times(described: str, spent_ms: Sequence[Mapping[str, float]]) -> tuple[OpTime, ...]:
    """The median times of the layers from `spent_ms`, what each took in each run.

    A layer is the work of the ONNX nodes that it was made of, where TensorRT tells them, and
    goes by the name of its kernel, where it has one of its own.
    """
    layers = {layer.name: layer for layer in layers_of(described)}
    return tuple(
        _op_time(
            layers.get(name, Layer(name, UNKNOWN)),
            median(run.get(name, 0.0) for run in spent_ms) * 1e3,
        )
        for name in dict.fromkeys(name for run in spent_ms for name in run)
    )


def _op_time(layer: Layer, time_us: float) -> OpTime:
    return OpTime(
        node=" + ".join(layer.nodes) or layer.name,
        op=layer.kind,
        time_us=time_us,
        engine_name=layer.tactic or layer.name,
        holds=layer.nodes,
    )
