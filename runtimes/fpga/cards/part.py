"""The FPGA on a card: what its public documents count, and which designs exceed it.

Only what the documents count is checked. Logic cells are absent: nobody has published how many a
core takes.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass


@dataclass(frozen=True, slots=True, config=ConfigDict(strict=True, extra="forbid"))
class Part:
    """Resources of a part. `multiplications_per_dsp` are floating-point products that one DSP block
    completes each cycle, `memory_bytes` is all memory on the chip. 0: no public figure.

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
        for label, wanted, held in (
            ("multiplications a cycle", multiplications, self.multiplications),
            ("bytes of weight memory", weight_bytes, self.memory_bytes),
            ("MHz in its DSP blocks", clock_mhz, self.dsp_max_mhz),
        ):
            if held and wanted > held:
                return f"{wanted:.12g} {label}, and the part {self.name} has {held:.12g}"
        return ""
