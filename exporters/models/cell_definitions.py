"""The 22 cells of NeurIO's block-based benchmark page, by name.

The page names the configurations and gives no layers; what is inside each is our own
definition, drawn in the modules beside this one. Torch-free, so that listing is cheap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporters.types import Definition, Factory, TensorSpec

_CHANNELS = 32


def _cell(
    name: str,
    row: tuple[str, str],
    shape: tuple[int, ...],
    target: str,
    arguments: Mapping[str, Any] | None = None,
) -> Definition:
    """`row` is the family and the page's own name of the row."""
    family, title = row
    return Definition(
        name=name,
        suite="cells",
        family=family,
        source=f'NeurIO\'s block-based benchmark page, row "{title}"; layers by our definition',
        factory=Factory(f"exporters.models.cells:{target}", arguments or {}),
        inputs=(TensorSpec("x", "float32", ("batch", *shape)),),
        outputs=("y",),
        axes={"batch": 1},
    )


def _image(channels: int = _CHANNELS, space_axes: int = 2) -> tuple[int, ...]:
    return (channels, *(32,) * space_axes)


def _skips() -> list[Definition]:
    return [
        _cell(
            f"skip_{merge}_{branches}",
            ("skip", "Skip connection"),
            _image(),
            "skip_connection",
            {"branches": branches, "merge": merge},
        )
        for branches in (2, 4)
        for merge in ("concat", "add")
    ]


def _resnets() -> list[Definition]:
    row = ("resnet_block", "ResNet block")
    cells = []
    for filters in (64, 128):
        arguments = {"filters": filters}
        cells += [
            _cell(f"resnet_conv_block_{filters}", row, _image(), "conv_block", arguments),
            _cell(
                f"resnet_identity_block_{filters}",
                row,
                _image(filters),
                "identity_block",
                arguments,
            ),
        ]
    return cells


def _densenets() -> list[Definition]:
    return [
        _cell(
            f"densenet_block_{axes}d_{filters}",
            ("densenet_block", "DenseNet block"),
            _image(space_axes=axes),
            "dense_block",
            {"space_axes": axes, "filters": filters},
        )
        for axes in (1, 2)
        for filters in (32, 64)
    ]


def _inceptions() -> list[Definition]:
    return [
        _cell(
            f"inception_{kind}_{axes}d",
            ("inception_block", "Inception block"),
            _image(space_axes=axes),
            f"inception_{kind}",
            {"space_axes": axes},
        )
        for axes in (1, 2)
        for kind in ("naive", "reduced")
    ]


def _mobilenets() -> list[Definition]:
    return [
        _cell(
            f"mobilenet_block_{filters}",
            ("mobilenet_block", "MobileNet block"),
            _image(filters),
            "mobilenet_block",
            {"filters": filters},
        )
        for filters in (32, 64, 128, 256)
    ]


def _classifiers() -> list[Definition]:
    row = ("classifier", "Classifier block")
    return [
        _cell("classifier_avg", row, _image(), "average_classifier"),
        _cell("classifier_globalavg", row, _image(), "global_classifier"),
    ]


DEFINITIONS: tuple[Definition, ...] = (
    *_skips(),
    *_resnets(),
    *_densenets(),
    *_inceptions(),
    *_mobilenets(),
    *_classifiers(),
)
