"""Published data of a card: the FPGA's resources, and the transfer times of its link (mean and
p99).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import log2
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as dataclasses_dataclass

WAYS: Mapping[str, str] = {"MMIO": "register writes", "User buffers": "DMA"}
"""The table's modes that any program can use, and what they are. Buffers that a program has to
allocate for the card ("Raw DMA buffers") are not among them."""
_FOLDER = Path(__file__).parent
_PREFIX = "link_"


@dataclass(frozen=True, slots=True)
class Transfer:
    """A request's round trip over the link; `way` is a value of WAYS."""

    way: str
    mean_us: float
    p99_us: float


@dataclass(frozen=True, slots=True)
class LinkTable:
    """`ways` -> (output bytes, input bytes) -> (mean, p99) in microseconds."""

    sizes: tuple[int, ...]
    ways: Mapping[str, Mapping[tuple[int, int], tuple[float, float]]]

    def transfer(self, input_bytes: int, output_bytes: int) -> Transfer:
        """The fastest way at these sizes."""
        transfers = [self.by_way(way, input_bytes, output_bytes) for way in WAYS.values()]
        return min(transfers, key=lambda transfer: transfer.mean_us)

    def by_way(self, way: str, input_bytes: int, output_bytes: int) -> Transfer:
        """The same by one of WAYS."""
        mode = next(mode for mode, name in WAYS.items() if name == way)
        return Transfer(way, *self._interpolate(self.ways[mode], output_bytes, input_bytes))

    def _interpolate(
        self,
        table: Mapping[tuple[int, int], tuple[float, float]],
        output_bytes: int,
        input_bytes: int,
    ) -> tuple[float, float]:
        """Between four points, linear in the logarithms of the sizes; beyond the largest size at
        the rate of the last two, below the smallest one its time. How far the p99 is above the mean
        does not grow beyond the table."""
        mean = self._figure(table, output_bytes, input_bytes, 0)
        most = self.sizes[-1]
        inside = min(output_bytes, most), min(input_bytes, most)
        above = self._figure(table, *inside, 1) - self._figure(table, *inside, 0)
        return mean, mean + above

    def _figure(
        self,
        table: Mapping[tuple[int, int], tuple[float, float]],
        output_bytes: int,
        input_bytes: int,
        figure: int,
    ) -> float:
        rows, columns = (_weights(self.sizes, size) for size in (output_bytes, input_bytes))
        return sum(a * b * table[out, inp][figure] for out, a in rows for inp, b in columns)


def _weights(sizes: Sequence[int], size: int) -> tuple[tuple[int, float], tuple[int, float]]:
    """The two sizes of the table beside this one, each with its weight; they add up to 1."""
    low, high = next((pair for pair in pairwise(sizes) if size <= pair[1]), (sizes[-2], sizes[-1]))
    if size > high:
        share = (size - low) / (high - low)
    else:
        share = log2(max(size, low) / low) / log2(high / low)
    return (low, 1.0 - share), (high, share)


@cache
def link_tables() -> tuple[str, ...]:
    """The names of the tables beside this module."""
    return tuple(sorted(path.stem.removeprefix(_PREFIX) for path in _FOLDER.glob("link_*.csv")))


@cache
def link_table(name: str) -> LinkTable:
    """One of `link_tables`."""
    ways: dict[str, dict[tuple[int, int], tuple[float, float]]] = {mode: {} for mode in WAYS}
    with (_FOLDER / f"{_PREFIX}{name}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["mode"] in ways:
                point = int(row["output_bytes"]), int(row["input_bytes"])
                ways[row["mode"]][point] = float(row["mean_us"]), float(row["p99_us"])
    sizes = sorted({size for table in ways.values() for pair in table for size in pair})
    return LinkTable(tuple(sizes), ways)


HIGHEST_DSP_MHZ = 750.0
"""Of all parts of the packaged cards whose figure is public, README.md, "Sources"."""


@dataclasses_dataclass(frozen=True, slots=True, config=ConfigDict(strict=True, extra="forbid"))
class Part:
    """Resources of a part. `multiplications_per_dsp` are floating-point products that one DSP block
    completes each cycle, `memory_bytes` is all memory on the chip. `dsp_max_mhz` is 0 where no
    figure is public; then the highest of another part that the packaged cards have is the limit.

    `external_bytes` is memory on the card but outside the chip, read and written at
    `external_bytes_per_us`; 0 where the card's file gives none.
    """

    name: Annotated[str, Field(min_length=1)]
    dsp_blocks: Annotated[int, Field(gt=0)]
    multiplications_per_dsp: Annotated[int, Field(gt=0)]
    memory_bytes: Annotated[int, Field(gt=0)]
    dsp_max_mhz: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    external_bytes: Annotated[int, Field(ge=0)] = 0
    external_bytes_per_us: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0

    @property
    def multiplications(self) -> int:
        """Products a cycle of all DSP blocks."""
        return self.dsp_blocks * self.multiplications_per_dsp

    def excess(self, multiplications: int, weight_bytes: int, clock_mhz: float) -> str:
        """What of a design exceeds the part; "" where nothing known does."""
        for label, needed_amount, part_amount in (
            ("multiplications a cycle", multiplications, self.multiplications),
            ("bytes of weight memory", weight_bytes, self.memory_bytes),
            (
                "MHz in its DSP blocks",
                clock_mhz,
                self.dsp_max_mhz or HIGHEST_DSP_MHZ,
            ),
        ):
            if needed_amount > part_amount:
                return (
                    f"{needed_amount:.12g} {label}, and the part {self.name} has {part_amount:.12g}"
                )
        return ""
