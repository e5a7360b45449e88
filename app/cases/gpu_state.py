"""What a GPU is and how it is set: what its figures depend on beside the work itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GpuState:
    """As the driver tells it; None and "" are what it does not tell.

    `clock_limit_mhz` is the highest clock that the device has, `power_limit_w` what is enforced,
    `ecc` and `mig` whether they are on now, `link` how it is connected at this moment.
    """

    name: str
    uuid: str
    driver: str
    power_limit_w: float | None = None
    clock_limit_mhz: float | None = None
    persistence: bool | None = None
    ecc: bool | None = None
    mig: bool | None = None
    link: str = ""
