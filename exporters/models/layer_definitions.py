"""The 60 layers of NeurIO's block-based benchmark page: 15 rows, four configurations each.

Torch-free, so that listing them is cheap. Where the page leaves a size open ours stands:
channels first, inputs [3, 32], [3, 32, 32] and [3, 32, 32, 32], kernel 3, and every
configuration with a dynamic batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporters.types import Definition, Factory, TensorSpec

_FILTERS_AND_STRIDE = ((32, 1), (32, 2), (64, 1), (64, 2))
_KERNELS = ((32, 1), (32, 3), (32, 5), (64, 7))
_DENSE = ((128, 32), (256, 64), (512, 128), (1024, 256))
_WINDOW_AND_STRIDE = ((2, 1), (2, 2), (4, 2), (7, 1))
_ACTIVATIONS = ("relu", "sigmoid", "relu6", "tanh")
_RESHAPE_SHAPES = ((3072,), (1024, 3), (32, 3, 32), (16, 32, 3, 2))
_PADDINGS = ("zero", "constant", "reflect", "symmetric")


def _space(axes: int) -> tuple[int, ...]:
    return (32,) * axes


def _layer(
    name: str,
    row: tuple[str, str],
    shape: tuple[int, ...],
    target: str,
    arguments: Mapping[str, Any],
) -> Definition:
    """`row` is the family and the page's own name of the row."""
    family, title = row
    return Definition(
        name=name,
        suite="layers",
        family=family,
        source=f'NeurIO\'s block-based benchmark page, row "{title}"',
        factory=Factory(f"exporters.models.layers:{target}", arguments),
        inputs=(TensorSpec("x", "float32", ("batch", *shape)),),
        outputs=("y",),
        axes={"batch": 1},
    )


def _convolutions() -> list[Definition]:
    layers = []
    for axes in (1, 2, 3):
        row = (f"conv{axes}d", f"Convolutional {axes}D")
        layers += [
            _layer(
                f"conv{axes}d_f{filters}_s{stride}",
                row,
                (3, *_space(axes)),
                f"conv{axes}d",
                {"filters": filters, "stride": stride},
            )
            for filters, stride in _FILTERS_AND_STRIDE
        ]
    layers += [
        _layer(
            f"conv2d_f{filters}_k{kernel}",
            ("conv2d_kernel", "Convolutional 2D (by kernel)"),
            (3, 32, 32),
            "conv2d",
            {"filters": filters, "kernel": kernel},
        )
        for filters, kernel in _KERNELS
    ]
    layers += [
        _layer(
            f"depthwise2d_f{filters}_s{stride}",
            ("depthwise2d", "Depthwise 2D conv"),
            (filters, 32, 32),
            "depthwise2d",
            {"filters": filters, "stride": stride},
        )
        for filters, stride in _FILTERS_AND_STRIDE
    ]
    return layers


def _dense() -> list[Definition]:
    return [
        _layer(
            f"dense_{inputs}_{neurons}",
            ("dense", "Fully connected"),
            (inputs,),
            "dense",
            {"inputs": inputs, "neurons": neurons},
        )
        for inputs, neurons in _DENSE
    ]


def _pools() -> list[Definition]:
    return [
        _layer(
            f"{short}pool{axes}d_k{window}_s{stride}",
            (f"{short}pool{axes}d", f"{short.capitalize()}Pooling{axes}D"),
            (3, *_space(axes)),
            builder,
            {"space_axes": axes, "window": window, "stride": stride},
        )
        for short, builder in (("avg", "average_pool"), ("max", "max_pool"))
        for axes in (1, 2)
        for window, stride in _WINDOW_AND_STRIDE
    ]


def _activations() -> list[Definition]:
    return [
        _layer(
            f"activation_{kind}",
            ("activation", "Activation"),
            (3, 32, 32),
            "activation",
            {"kind": kind},
        )
        for kind in _ACTIVATIONS
    ]


def _norms() -> list[Definition]:
    """The page's "1D" to "4D" are the axes beside the batch, the channels among them."""
    return [
        _layer(
            f"batchnorm_{axes}d",
            ("batchnorm", "Batch norm"),
            (3, *_space(axes - 1)),
            "batch_norm",
            {"data_axes": axes},
        )
        for axes in (1, 2, 3, 4)
    ]


def _reshapes() -> list[Definition]:
    return [
        _layer(
            f"reshape_{len(shape)}d",
            ("reshape", "Reshape"),
            (3, 32, 32),
            "reshape",
            {"shape": list(shape)},
        )
        for shape in _RESHAPE_SHAPES
    ]


def _paddings() -> list[Definition]:
    return [
        _layer(
            f"pad{axes}d_{kind}",
            (f"pad{axes}d", f"Padding {axes}D"),
            (3, *_space(axes)),
            "pad",
            {"kind": kind, "space_axes": axes},
        )
        for axes in (1, 2)
        for kind in _PADDINGS
    ]


DEFINITIONS: tuple[Definition, ...] = (
    *_convolutions(),
    *_dense(),
    *_pools(),
    *_activations(),
    *_norms(),
    *_reshapes(),
    *_paddings(),
)
