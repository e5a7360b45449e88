"""How far apart two colours look, to everyone: also to those who see no red or no green apart."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import starmap

import numpy as np
from PySide6.QtGui import QColor

# Full vision; protanopia and deuteranopia at severity 1 on linear RGB, as simulated by Machado,
# Oliveira & Fernandes (IEEE Trans. Vis. Comput. Graph. 15, 2009), table 1.
_VISIONS = np.array(
    [
        np.eye(3),
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
    ]
)
# Linear RGB to Oklab (B. Ottosson, 2020, bottosson.github.io/posts/oklab).
_CONE = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def apart(one: QColor, other: QColor) -> float:
    """The distance in Oklab, the least of all visions: 0.02 is just seen, black to white is 1."""
    return min(starmap(math.dist, zip(_seen(one.name()), _seen(other.name()), strict=True)))


@lru_cache(maxsize=4096)
def _seen(name: str) -> tuple[tuple[float, ...], ...]:
    """The colour in Oklab for each vision."""
    color = QColor(name)
    rgb = np.array([color.redF(), color.greenF(), color.blueF()])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    cones = np.clip(_VISIONS @ linear, 0.0, 1.0) @ _CONE.T
    return tuple(tuple(lab) for lab in (np.cbrt(cones) @ _LAB.T).tolist())
