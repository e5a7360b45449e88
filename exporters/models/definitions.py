"""Every definition that ships but the digit classifiers. Torch-free, so that listing is cheap.

The 60 layers (15 rows of four) and 22 cells of NeurIO's block-based benchmark page: where the page
leaves a size open ours stands, channels first, inputs [3, 32], [3, 32, 32] and [3, 32, 32, 32],
kernel 3; of the cells it names the configurations, and what is inside each is our own definition,
drawn in `cells.py`. The 34 networks of the Gluon model zoo are also found under the name that
dlmark's CNN study gives them: the family, then its version or depth, joined by hyphens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from exporters.types import Definition, Factory, StatePair, TensorSpec

_SEQUENCE = {"sequence": 16}
_KERNEL = 8
_CNNS = {"cnn_tiny": (3, 128), "cnn_small": (3, 256), "cnn_med": (6, 256)}
_LSTMS = {
    "lstm_tiny": (2, 128),
    "lstm_small": (3, 256),
    "lstm_med": (3, 480),
    "lstm_med_deep": (6, 320),
    "lstm_large": (3, 960),
}
_LSTM_OUTPUTS = 32
# Layers, steps of a window, inputs, units.
_LOWLAT = {"small": (2, 64, 128, 96), "medium": (3, 96, 192, 160), "large": (4, 128, 512, 736)}
_MLP_WIDTHS = (256, 384, 384, 128)

_FILTERS_AND_STRIDE = ((32, 1), (32, 2), (64, 1), (64, 2))
_WINDOW_AND_STRIDE = ((2, 1), (2, 2), (4, 2), (7, 1))
_IMAGE = (3, 32, 32)
_CELL = (32, 32, 32)


def _define(
    name: str,
    target: str,
    arguments: Mapping[str, Any],
    shape: Sequence[int | str],
    *,
    states: Sequence[TensorSpec] = (),
    axes: Mapping[str, int] | None = None,
    **facts: Any,
) -> Definition:
    """`shape` is that of the input `x` without the batch; each state is an input with an output."""
    pairs = tuple(StatePair(state.name, f"{state.name}_out") for state in states)
    return Definition(
        name=name,
        factory=Factory(f"exporters.models.{target}", arguments),
        inputs=(TensorSpec("x", "float32", ("batch", *shape)), *states),
        outputs=("y", *(pair.output for pair in pairs)),
        axes={"batch": 1, **(axes or {})},
        states=pairs,
        **facts,
    )


def _cnn(name: str, layers: int, channels: int) -> tuple[Definition, Definition]:
    """The streaming step and the whole sequence of one CNN, with the same weights."""
    arguments = {"layers": layers, "channels": channels, "kernel_size": _KERNEL}
    facts: dict[str, Any] = {"suite": "vollo-cnn", "family": "cnn"}
    facts |= {"source": "VOLLO CNN latency tables", "layers": layers, "width": channels}
    states = [
        TensorSpec(f"state_{layer}", "float32", ("batch", channels, _KERNEL - 1))
        for layer in range(layers)
    ]
    step, sequence = "networks:CnnStep", "networks:CnnSequence"
    return (
        _define(name, step, arguments, (channels, 1), states=states, **facts),
        _define(
            f"{name}_seq", sequence, arguments, (channels, "sequence"), axes=_SEQUENCE, **facts
        ),
    )


def _lstm_step(name: str, arguments: Mapping[str, int], inputs: int, **facts: Any) -> Definition:
    states = [
        TensorSpec(f"{part}_{layer}", "float32", (1, "batch", arguments["hidden"]))
        for layer in range(arguments["layers"])
        for part in "hc"
    ]
    return _define(name, "networks:LstmStep", arguments, (1, inputs), states=states, **facts)


def _lstm(name: str, layers: int, hidden_size: int) -> tuple[Definition, Definition]:
    """The streaming step and the whole sequence of one LSTM, with the same weights."""
    arguments = {"layers": layers, "hidden": hidden_size, "outputs": _LSTM_OUTPUTS}
    facts: dict[str, Any] = {"suite": "vollo-lstm", "family": "lstm"}
    facts |= {"source": "VOLLO LSTM latency tables", "layers": layers, "width": hidden_size}
    sequence, shape = "networks:LstmSequence", ("sequence", hidden_size)
    return (
        _lstm_step(name, arguments, hidden_size, **facts),
        _define(f"{name}_seq", sequence, arguments, shape, axes=_SEQUENCE, **facts),
    )


def _lowlat(
    size: str, layers: int, steps: int, inputs: int, units: int
) -> tuple[Definition, Definition]:
    """A fresh window for each run, and one new step with the state kept, with the same weights."""
    arguments = {"layers": layers, "hidden": units, "outputs": 1, "inputs": inputs}
    facts: dict[str, Any] = {"suite": "lowlat-lstm", "family": "lstm", "in_fp64": True}
    facts |= {"source": "dl-lowlat-infer: its published sizes", "layers": layers, "width": units}
    name, shape, axes = f"lowlat_{size}", ("sequence", inputs), {"sequence": steps}
    return (
        _define(f"{name}_window", "networks:LstmWindow", arguments, shape, axes=axes, **facts),
        _lstm_step(f"{name}_step", arguments, inputs, **facts),
    )


_MLP = _define(
    "mlp",
    "networks:Mlp",
    {"widths": list(_MLP_WIDTHS)},
    _MLP_WIDTHS[:1],
    suite="mlp",
    family="mlp",
    source="MLP 256-384-384-128",
)
# The text is one-hot in use; its arithmetic is dense, so uniform data costs the same and
# exercises every weight.
_CHAR_CNN = replace(
    _define(
        "char_cnn",
        "networks:CharCnn",
        {},
        (),
        suite="char-cnn",
        family="char-cnn",
        source="character-level CNN optimisation history",
    ),
    inputs=(TensorSpec("x", "float32", ("batch", 70, 1014), low=0.0, high=1.0),),
)


def _block(
    name: str, row: tuple[str, str], target: str, shape: Sequence[int], **arguments: Any
) -> Definition:
    """A layer or cell. `row` is the family and the page's own name of the row."""
    family, title = row
    suite = target.partition(":")[0]
    source = f'NeurIO\'s block-based benchmark page, row "{title}"'
    if suite == "cells":
        source += "; layers by our definition"
    return _define(name, target, arguments, shape, suite=suite, family=family, source=source)


def _space(axes: int, channels: int = 3) -> tuple[int, ...]:
    return (channels, *(32,) * axes)


def _layers() -> list[Definition]:
    layers = [
        _block(
            f"conv{axes}d_f{filters}_s{stride}",
            (f"conv{axes}d", f"Convolutional {axes}D"),
            f"layers:conv{axes}d",
            _space(axes),
            filters=filters,
            stride=stride,
        )
        for axes in (1, 2, 3)
        for filters, stride in _FILTERS_AND_STRIDE
    ]
    row = ("conv2d_kernel", "Convolutional 2D (by kernel)")
    layers += [
        _block(f"conv2d_f{f}_k{kernel}", row, "layers:conv2d", _IMAGE, filters=f, kernel=kernel)
        for f, kernel in ((32, 1), (32, 3), (32, 5), (64, 7))
    ]
    row, target = ("depthwise2d", "Depthwise 2D conv"), "layers:depthwise2d"
    layers += [
        _block(f"depthwise2d_f{f}_s{stride}", row, target, _space(2, f), filters=f, stride=stride)
        for f, stride in _FILTERS_AND_STRIDE
    ]
    row, target = ("dense", "Fully connected"), "layers:dense"
    layers += [
        _block(f"dense_{n}_{neurons}", row, target, (n,), inputs=n, neurons=neurons)
        for n, neurons in ((128, 32), (256, 64), (512, 128), (1024, 256))
    ]
    layers += [
        _block(
            f"{short}pool{axes}d_k{window}_s{stride}",
            (f"{short}pool{axes}d", f"{short.capitalize()}Pooling{axes}D"),
            target,
            _space(axes),
            space_axes=axes,
            window=window,
            stride=stride,
        )
        for short, target in (("avg", "layers:average_pool"), ("max", "layers:max_pool"))
        for axes in (1, 2)
        for window, stride in _WINDOW_AND_STRIDE
    ]
    row, target = ("activation", "Activation"), "layers:activation"
    layers += [
        _block(f"activation_{kind}", row, target, _IMAGE, kind=kind)
        for kind in ("relu", "sigmoid", "relu6", "tanh")
    ]
    # The page's "1D" to "4D" are the axes beside the batch, the channels among them.
    row, target = ("batchnorm", "Batch norm"), "layers:batch_norm"
    layers += [
        _block(f"batchnorm_{axes}d", row, target, _space(axes - 1), data_axes=axes)
        for axes in (1, 2, 3, 4)
    ]
    row, target = ("reshape", "Reshape"), "layers:Reshape"
    layers += [
        _block(f"reshape_{len(sizes)}d", row, target, _IMAGE, sizes=sizes)
        for sizes in ([3072], [1024, 3], [32, 3, 32], [16, 32, 3, 2])
    ]
    layers += [
        _block(
            f"pad{axes}d_{kind}",
            (f"pad{axes}d", f"Padding {axes}D"),
            "layers:pad",
            _space(axes),
            kind=kind,
            space_axes=axes,
        )
        for axes in (1, 2)
        for kind in ("zero", "constant", "reflect", "symmetric")
    ]
    return layers


def _cells() -> list[Definition]:
    row, target = ("skip", "Skip connection"), "cells:SkipConnection"
    cells = [
        _block(f"skip_{merge}_{branches}", row, target, _CELL, branches=branches, merge=merge)
        for branches in (2, 4)
        for merge in ("concat", "add")
    ]
    row, target = ("resnet_block", "ResNet block"), "cells:ResidualBlock"
    cells += [
        _block(
            f"resnet_{kind}_block_{filters}",
            row,
            target,
            _space(2, channels or filters),
            channels=channels or filters,
            filters=filters,
            stride=stride,
        )
        for filters in (64, 128)
        for kind, channels, stride in (("conv", 32, 2), ("identity", 0, 1))
    ]
    row, target = ("densenet_block", "DenseNet block"), "cells:dense_block"
    cells += [
        _block(f"densenet_block_{n}d_{f}", row, target, _space(n, 32), space_axes=n, filters=f)
        for n in (1, 2)
        for f in (32, 64)
    ]
    row = ("inception_block", "Inception block")
    cells += [
        _block(f"inception_{k}_{n}d", row, f"cells:inception_{k}", _space(n, 32), space_axes=n)
        for n in (1, 2)
        for k in ("naive", "reduced")
    ]
    row, target = ("mobilenet_block", "MobileNet block"), "cells:InvertedResidual"
    cells += [
        _block(f"mobilenet_block_{filters}", row, target, _space(2, filters), filters=filters)
        for filters in (32, 64, 128, 256)
    ]
    row = ("classifier", "Classifier block")
    cells.append(_block("classifier_avg", row, "cells:average_classifier", _CELL))
    cells.append(_block("classifier_globalavg", row, "cells:global_classifier", _CELL))
    return cells


def _network(
    name: str, alias: str, family: str, target: str, *, image_size: int = 224, **arguments: Any
) -> Definition:
    """One classifier of the zoo: an RGB image of `image_size` squared to 1000 logits."""
    return _define(
        name,
        target,
        arguments,
        (3, image_size, image_size),
        suite="zoo",
        family=family,
        source="dlmark's CNN study of the Gluon model zoo",
        aliases=(alias,),
    )


def _zoo() -> list[Definition]:
    family, target = "densenet", "zoo_residual:densenet"
    networks = [_network("alexnet", "AlexNet", "alexnet", "zoo_sequential:alexnet")]
    networks += [
        _network(f"densenet{depth}", f"DenseNet-{depth}", family, target, depth=depth)
        for depth in (121, 161, 169, 201)
    ]
    target = "zoo_sequential:inception_v3"
    networks.append(_network("inceptionv3", "Inception-v3", "inception", target, image_size=299))
    networks += [
        _network(f"{name}{width}", f"{title}-{width}", family, target, width=width)
        for name, title, family, target in (
            ("mobilenet", "MobileNet", "mobilenet", "zoo_residual:mobilenet"),
            ("mobilenetv2_", "MobileNet-v2", "mobilenetv2", "zoo_residual:mobilenet_v2"),
        )
        for width in (0.25, 0.5, 0.75, 1.0)
    ]
    networks += [
        _network(f"resnet{depth}_{v}", f"ResNet-{v}-{depth}", f"resnet_{v}", target, depth=depth)
        for v, target in (("v1", "zoo_residual:resnet_v1"), ("v2", "zoo_residual:resnet_v2"))
        for depth in (18, 34, 50, 101, 152)
    ]
    family, target = "squeezenet", "zoo_sequential:squeezenet"
    networks += [
        _network(f"squeezenet{version}", f"SqueezeNet-{version}", family, target, version=version)
        for version in ("1.0", "1.1")
    ]
    family, target = "vgg", "zoo_sequential:vgg"
    networks += [
        _network(
            f"vgg{depth}{bn and '_bn'}",
            f"VGG-{depth}{bn and '-bn'}",
            family,
            target,
            depth=depth,
            batch_norm=bool(bn),
        )
        for depth in (11, 13, 16, 19)
        for bn in ("", "bn")
    ]
    return networks


DEFINITIONS: tuple[Definition, ...] = (
    *(form for name, (layers, width) in _CNNS.items() for form in _cnn(name, layers, width)),
    *(form for name, (layers, width) in _LSTMS.items() for form in _lstm(name, layers, width)),
    *(form for size, sizes in _LOWLAT.items() for form in _lowlat(size, *sizes)),
    _MLP,
    _CHAR_CNN,
    *_layers(),
    *_cells(),
    *_zoo(),
)
