"""Colours as people see them, some of whom see fewer: written apart from what the window uses."""

from __future__ import annotations

import numpy as np
from PySide6.QtGui import QColor

# Machado, Oliveira & Fernandes (2009), severity 1, on linear RGB.
VISIONS: dict[str, np.ndarray] = {
    "full": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}


def seen_as(color: QColor, vision: np.ndarray) -> np.ndarray:
    """Where a colour lies in Oklab, in which distances look alike, for those who see so."""
    return _oklab(vision @ linear(color))


def linear(color: QColor) -> np.ndarray:
    """The linear parts of red, green and blue, from 0 to 1."""
    rgb = np.array([color.redF(), color.greenF(), color.blueF()])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _oklab(linear_rgb: np.ndarray) -> np.ndarray:
    """Ottosson's perceptual space."""
    cone = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return lab @ np.cbrt(cone @ np.clip(linear_rgb, 0.0, 1.0))
