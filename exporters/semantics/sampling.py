"""GridSample and AffineGrid: an image read at the places that a grid names."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

_CUBIC_A = -0.75
_OLD_NAMES = {"bilinear": "linear", "bicubic": "cubic"}
"""Two of the modes had other names below opset 20."""


class GridSample(OpRun):
    """By the definition, with padding applied to each neighbour of a cubic, as torch does.

    onnx's moves the coordinate of a cubic to the border instead.
    """

    def _run(
        self,
        x: np.ndarray,
        grid: np.ndarray,
        align_corners: int | None = None,
        mode: str | None = None,
        padding_mode: str | None = None,
    ) -> tuple[np.ndarray, ...]:
        method = _OLD_NAMES.get(str(mode), str(mode))
        padding = str(padding_mode)
        sizes = x.shape[2:]
        # Coordinates are rounded as the engines do, so that they agree on a tie.
        wide = grid.astype(np.result_type(grid.dtype, np.float32))
        taps = []
        for axis, size in enumerate(sizes):
            at = wide[..., len(sizes) - 1 - axis]  # the grid names the last axis first
            at = (at + 1) / 2 * (size - 1) if align_corners else ((at + 1) * size - 1) / 2
            if method != "cubic":
                at = _moved(at, size, padding, bool(align_corners))
            taps.append(_taps(at, method))
        image: Any = x.astype(np.float64)
        result = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
        batch = np.arange(x.shape[0]).reshape(-1, *(1 for _ in grid.shape[1:-1]))
        for combination in product(*taps):
            weight = np.ones(grid.shape[:-1])
            index: list[Any] = []
            for (near, share), size in zip(combination, sizes, strict=True):
                cubic = method == "cubic"
                place = _moved(near, size, padding, bool(align_corners)) if cubic else near
                inside = (place >= 0) & (place <= size - 1)
                weight = np.where(inside, weight * share, 0.0)
                index.append(np.where(inside, place, 0).astype(np.int64))
            values = image[(batch, slice(None), *index)]
            result += (
                np.moveaxis(np.where(weight[..., None] == 0, 0.0, values), -1, 1) * weight[:, None]
            )
        return (result.astype(x.dtype),)


def _moved(at: np.ndarray, size: int, padding: str, align_corners: bool) -> np.ndarray:
    """Coordinates of the image for those outside of it; `zeros` leaves them there."""
    if padding == "zeros":
        return at
    if padding == "reflection":
        low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        if high > low:
            beyond = np.abs(at - low) % (2 * (high - low))
            at = low + np.minimum(beyond, 2 * (high - low) - beyond)
    return np.clip(at, 0, size - 1)


def _taps(at: np.ndarray, mode: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """The neighbours of each coordinate along one axis, with their weights."""
    below = np.floor(at)
    if mode == "nearest":
        return [(np.rint(at), np.ones(at.shape))]
    beyond = at.astype(np.float64) - below
    if mode == "linear":
        return [(below, 1 - beyond), (below + 1, beyond)]
    if mode == "cubic":
        return [(below + step, _cubic(np.abs(beyond - step))) for step in (-1, 0, 1, 2)]
    raise NotImplementedError(f"it does not know the mode {mode} of GridSample")


def _cubic(distance: np.ndarray) -> np.ndarray:
    """Keys' kernel."""
    a = _CUBIC_A
    near: np.ndarray = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


class AffineGrid(OpRun):
    """A grid of -1 to 1 that an affine map moves; onnx's begins an axis of one element at -1."""

    def _run(
        self, theta: np.ndarray, size: np.ndarray, align_corners: int | None = None
    ) -> tuple[np.ndarray, ...]:
        steps = []
        for count in (int(n) for n in size[2:]):
            middle = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
            steps.append(middle if align_corners else (np.arange(count) * 2 + 1) / count - 1)
        axes = np.meshgrid(*steps, indexing="ij")
        places = np.stack([*axes[::-1], np.ones_like(axes[0])], -1)
        points = np.einsum("...k,ndk->n...d", places, theta.astype(np.float64))
        return (points.astype(theta.dtype),)
