"""Runtime names to classes, resolved only when asked for: ours and those of other packages.

Adding one of ours is one line here, one folder beside this module, and one test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from exporters import own
from runtimes.base import Runtime
from runtimes.faults import NotAvailable

if TYPE_CHECKING:
    from runtimes.packaged import Offered, Refusal

RUNTIMES: dict[str, str] = {
    "ort-cpu": "runtimes.ort.runtime:OrtCpu",
    "ort-cuda": "runtimes.ort.cuda_runtime:OrtCuda",
    "ort-tensorrt": "runtimes.ort.tensorrt_runtime:OrtTensorRt",
    "ort-ep": "runtimes.ort.plugin_runtime:OrtEp",
    "tensorrt": "runtimes.trt.runtime:TensorRt",
    "tensorrt-rtx": "runtimes.trt.rtx_runtime:TensorRtRtx",
    "openvino-cpu": "runtimes.ov.runtime:OpenVinoCpu",
    "openvino": "runtimes.ov.any_device:OpenVino",
    "torch-cpu": "runtimes.pyt.runtime:TorchCpu",
    "torch-cuda": "runtimes.pyt.cuda_runtime:TorchCuda",
    "fpga": "runtimes.fpga.runtime:Fpga",
    "fake": "runtimes.fake.runtime:Fake",
}


@dataclass(frozen=True, slots=True)
class RuntimeSpec:
    """The parsed form of `name[:device][@release]`."""

    name: str
    device: str = ""
    release: str = ""

    def __str__(self) -> str:
        device = f":{self.device}" if self.device else ""
        release = f"@{self.release}" if self.release else ""
        return f"{self.name}{device}{release}"


def parse_spec(text: str) -> RuntimeSpec:
    """Split `name[:device][@release]`; the name is not looked up."""
    rest, _, release = text.partition("@")
    name, _, device = rest.partition(":")
    return RuntimeSpec(name, device, release)


def names() -> tuple[str, ...]:
    """All that are known: ours as the table has them, then those of other packages by name."""
    return (*RUNTIMES, *_offered().runtimes)


def refused() -> Mapping[str, Refusal]:
    """What other packages offer and can't be taken, by the name that they give it."""
    return _offered().refused


def packages() -> dict[str, str]:
    """The packages that bring runtimes, with their versions."""
    return {one.package: one.version for one in _offered().runtimes.values()}


def load(name: str) -> Runtime:
    """An instance of the runtime called `name`; NotAvailable if there is none."""
    if name in RUNTIMES:
        runtime: type[Runtime] = own.load(RUNTIMES[name])
        return runtime()
    brought = _offered().runtimes.get(name)
    if brought is None:
        raise NotAvailable(
            f"there is no runtime called {name!r} here", "install the package that brings it"
        )
    from runtimes.packaged import load as load_packaged

    return load_packaged(brought)


@cache
def _offered() -> Offered:
    # Not before it is needed: a process that measures a runtime of ours starts without it.
    from runtimes.packaged import read

    return read(RUNTIMES)
