"""Runtime names to classes, resolved only when asked for.

Adding a runtime is one line here, one folder beside this module, and one test.
"""

from __future__ import annotations

from dataclasses import dataclass

from exporters import own
from runtimes.base import Runtime

RUNTIMES: dict[str, str] = {
    "ort-cpu": "runtimes.ort.runtime:OrtCpu",
    "ort-cuda": "runtimes.ort.cuda_runtime:OrtCuda",
    "ort-tensorrt": "runtimes.ort.tensorrt_runtime:OrtTensorRt",
    "tensorrt": "runtimes.trt.runtime:TensorRt",
    "openvino-cpu": "runtimes.ov.runtime:OpenVinoCpu",
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


def load(name: str) -> Runtime:
    """An instance of the runtime called `name`; KeyError if there is none."""
    runtime: type[Runtime] = own.load(RUNTIMES[name])
    return runtime()
