"""The digit classifiers by name: MLPs and CNNs of six widths, trained and tested for real.

Torch-free, so that listing them is cheap.
"""

from __future__ import annotations

from exporters.types import Definition, Factory, TensorSpec

_WIDTHS = {"mlp": (8, 16, 32, 64, 128, 256), "cnn": (2, 4, 8, 16, 32, 64)}


def _classifier(kind: str, width: int) -> Definition:
    return Definition(
        name=f"digits_{kind}_{width}",
        suite="digits",
        family=f"digits_{kind}",
        source="trained on scikit-learn's bundled digits",
        factory=Factory("exporters.models.digits.trained:trained", {"kind": kind, "width": width}),
        inputs=(TensorSpec("x", "float32", ("batch", 1, 8, 8), low=0.0, high=1.0),),
        outputs=("y",),
        axes={"batch": 1},
        width=width,
        labelled="exporters.models.digits.data:test_set",
    )


DEFINITIONS: tuple[Definition, ...] = tuple(
    _classifier(kind, width) for kind, widths in _WIDTHS.items() for width in widths
)
