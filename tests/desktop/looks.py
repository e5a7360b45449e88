"""The screens, fonts and themes in which the window is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_USUAL_DPI = 96


@dataclass(frozen=True, slots=True)
class Look:
    """A screen in the window's own pixels, `scale` of its own to each, and the font's size."""

    name: str
    width: int
    height: int
    scale: int = 1
    font: float = 1.0

    @property
    def env(self) -> Mapping[str, str]:
        """What Qt is told of it."""
        return {
            "QT_SCALE_FACTOR": str(self.scale),
            # The font alone: Qt would take the same for a scale of everything.
            "QT_FONT_DPI": str(round(_USUAL_DPI * self.font)),
            "QT_ENABLE_HIGHDPI_SCALING": str(int(self.font == 1.0)),
        }


USUAL = Look("1280x800", 1280, 800)
LOOKS = (
    Look("900x560-large-font", 900, 560, font=1.75),
    USUAL,
    Look("1920x1080", 1920, 1080),
    Look("4k", 1920, 1080, scale=2),
)
THEMES = ("light", "dark")
