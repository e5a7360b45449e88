"""The colours of both themes, with one lasting colour for each runtime.

Text has a contrast of at least 4.5 to every ground on which it stands; borders of controls, series
and marks have at least 3 (WCAG 2.2, 1.4.3 and 1.4.11). `style_sheet.py` applies them.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

from PySide6.QtGui import QColor


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours as #rrggbb: `base` lies behind plots and tables, `window` behind all else; `border`
    parts areas and may be faint, `control` is the outline of what can be operated."""

    name: str
    window: str
    base: str
    stripe: str
    raised: str
    border: str
    control: str
    grid: str
    text: str
    muted: str
    accent: str
    on_accent: str
    good: str
    warning: str
    bad: str
    faster: str
    slower: str
    runtimes: dict[str, str]
    hues: tuple[str, ...]
    """Of what is no runtime, such as batch sizes beside each other; in their order."""

    @property
    def dark(self) -> bool:
        return QColor(self.base).lightness() < 128


LIGHT = Theme(
    name="light",
    window="#f3f4f6",
    base="#ffffff",
    stripe="#f7f8fa",
    raised="#e8ebef",
    border="#c6ccd4",
    control="#76818f",
    grid="#c3cad3",
    text="#1a1f26",
    muted="#5a6572",
    accent="#1a62bf",
    on_accent="#ffffff",
    good="#0a7045",
    warning="#855700",
    bad="#c42b2b",
    faster="#1f6fd6",
    slower="#b04a00",
    runtimes={
        "ort-cpu": "#1f6fd6",
        "openvino-cpu": "#dd7a00",
        "torch-cpu": "#9b2d8f",
        "fpga": "#0b8f7a",
        "openvino": "#542f27",
        "ort-ep": "#1b1c5f",
        "ort-cuda": "#e9456b",
        "tensorrt": "#484c00",
        "tensorrt-rtx": "#2d16d2",
        "ort-tensorrt": "#7a6916",
        "torch-cuda": "#8688fe",
        "fpga:ia-840f": "#40a1ab",
        "fpga:ia-420f": "#3b87b7",
        "fake": "#4e4e4e",
    },
    hues=("#1f6fd6", "#dd7a00", "#9b2d8f", "#0b8f7a", "#542f27", "#e9456b", "#7a6916", "#1b1c5f"),
)

DARK = Theme(
    name="dark",
    window="#1d2127",
    base="#15181d",
    stripe="#1a1e24",
    raised="#2b3139",
    border="#3d4550",
    control="#747f8d",
    grid="#4a5460",
    text="#e7eaef",
    muted="#9ba6b3",
    accent="#5b9dff",
    on_accent="#0d1117",
    good="#56d39b",
    warning="#e3b341",
    bad="#ff7b72",
    faster="#5b9dff",
    slower="#ffa940",
    runtimes={
        "ort-cpu": "#5b9dff",
        "openvino-cpu": "#ffa940",
        "torch-cpu": "#e183d6",
        "fpga": "#3ecfb2",
        "openvino": "#dc956c",
        "ort-ep": "#46a4a6",
        "ort-cuda": "#d53b06",
        "tensorrt": "#e0eb09",
        "tensorrt-rtx": "#6364a1",
        "ort-tensorrt": "#b48515",
        "torch-cuda": "#755fe9",
        "fpga:ia-840f": "#54fed8",
        "fpga:ia-420f": "#8fdaff",
        "fake": "#7a7a7a",
    },
    hues=("#5b9dff", "#ffa940", "#e183d6", "#3ecfb2", "#dc956c", "#d53b06", "#b48515", "#755fe9"),
)

THEMES: dict[str, Theme] = {theme.name: theme for theme in (LIGHT, DARK)}


def runtime_color(runtime: str, theme: Theme = LIGHT) -> QColor:
    """The colour of `name[:device][@release]`: the device's own, else the runtime's.

    A runtime that the table does not know gets a hue from its name, the same in every run.
    """
    device = runtime.partition("@")[0]
    name = device.partition(":")[0]
    color_name = theme.runtimes.get(device) or theme.runtimes.get(name)
    if color_name:
        return QColor(color_name)
    return QColor.fromHsl(crc32(name.encode()) % 360, 110, 170 if theme.dark else 100)


def verdict_color(word: str, theme: Theme) -> QColor:
    """Of faster, slower, same and undecided: blue and vermilion, which everyone tells apart."""
    return QColor({"faster": theme.faster, "slower": theme.slower}.get(word, theme.muted))


def mixed(color: QColor, other: QColor, share: float) -> QColor:
    """The colour with a share of the other in it, from 0 to 1; opaque."""
    pairs = (
        (color.red(), other.red()),
        (color.green(), other.green()),
        (color.blue(), other.blue()),
    )
    return QColor(*(round(a + (b - a) * share) for a, b in pairs))


def contrast(first: QColor, other: QColor) -> float:
    """The ratio of relative luminances, 1 to 21, after WCAG 2 (www.w3.org/TR/WCAG22, 1.4.3)."""
    low, high = sorted(map(_luminance, (first, other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: QColor) -> float:
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (color.redF(), color.greenF(), color.blueF())
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
