"""The 34 networks of the Gluon model zoo that dlmark's CNN study measures, by name.

Torch-free, so that listing them is cheap. Each is also found under the name that the study
gives it: the family, then its version or depth, joined by hyphens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporters.types import Definition, Factory, TensorSpec

_SOURCE = "dlmark's CNN study of the Gluon model zoo"
_WIDTHS = (0.25, 0.5, 0.75, 1.0)
_RESNET_DEPTHS = (18, 34, 50, 101, 152)
_VGG_DEPTHS = (11, 13, 16, 19)
_IMAGE_SIZE = 224
_INCEPTION_IMAGE_SIZE = 299


def _network(
    name: str,
    alias: str,
    family: str,
    target: str,
    arguments: Mapping[str, Any] | None = None,
    image_size: int = _IMAGE_SIZE,
) -> Definition:
    """One classifier: an RGB image of `image_size` squared to 1000 logits."""
    return Definition(
        name=name,
        suite="zoo",
        family=family,
        source=_SOURCE,
        factory=Factory(f"exporters.models.{target}", arguments or {}),
        inputs=(TensorSpec("x", "float32", ("batch", 3, image_size, image_size)),),
        outputs=("y",),
        axes={"batch": 1},
        aliases=(alias,),
    )


DEFINITIONS: tuple[Definition, ...] = (
    _network("alexnet", "AlexNet", "alexnet", "zoo_sequential:alexnet"),
    *(
        _network(
            f"densenet{depth}",
            f"DenseNet-{depth}",
            "densenet",
            "zoo_residual:densenet",
            {"depth": depth},
        )
        for depth in (121, 161, 169, 201)
    ),
    _network(
        "inceptionv3",
        "Inception-v3",
        "inception",
        "zoo_sequential:inception_v3",
        image_size=_INCEPTION_IMAGE_SIZE,
    ),
    *(
        _network(
            f"mobilenet{width}",
            f"MobileNet-{width}",
            "mobilenet",
            "zoo_residual:mobilenet",
            {"width": width},
        )
        for width in _WIDTHS
    ),
    *(
        _network(
            f"mobilenetv2_{width}",
            f"MobileNet-v2-{width}",
            "mobilenetv2",
            "zoo_residual:mobilenet_v2",
            {"width": width},
        )
        for width in _WIDTHS
    ),
    *(
        _network(
            f"resnet{depth}_v{version}",
            f"ResNet-v{version}-{depth}",
            f"resnet_v{version}",
            f"zoo_residual:resnet_v{version}",
            {"depth": depth},
        )
        for version in (1, 2)
        for depth in _RESNET_DEPTHS
    ),
    *(
        _network(
            f"squeezenet{version}",
            f"SqueezeNet-{version}",
            "squeezenet",
            "zoo_sequential:squeezenet",
            {"version": version},
        )
        for version in ("1.0", "1.1")
    ),
    *(
        _network(
            f"vgg{depth}{'_bn' if batch_norm else ''}",
            f"VGG-{depth}{'-bn' if batch_norm else ''}",
            "vgg",
            "zoo_sequential:vgg",
            {"depth": depth, "batch_norm": batch_norm},
        )
        for depth in _VGG_DEPTHS
        for batch_norm in (False, True)
    ),
)
