"""Which of NVIDIA's packages holds TensorRT: `tensorrt`, or TensorRT for RTX.

They have the same classes, of which the second lacks some, under other names of modules and
libraries. What differs is told by one value; the rest of the adapter takes the imported module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from types import ModuleType

from runtimes.cuda.runtime import TENSORRT_REMEDY, Libraries
from runtimes.errors import NotAvailable


@dataclass(frozen=True, slots=True)
class Package:
    """One of the packages, which is looked up without importing it.

    `distributions` has the CUDA release that each is built for, `sonames` lack the major
    version at their end. `times_kernels`: the builder chooses kernels by timing them on the
    GPU, and keeps the timings; else they are compiled when an engine is loaded.
    """

    title: str
    runtime: str
    module: str
    distributions: Mapping[str, int]
    sonames: tuple[str, ...]
    oldest_major: int
    remedy: str
    times_kernels: bool

    def installed(self) -> tuple[str, int] | None:
        """(version, CUDA major) of what is installed; None if nothing is."""
        if find_spec(self.module) is None:
            return None
        for distribution, cuda_major in self.distributions.items():
            try:
                return metadata.version(distribution), cuda_major
            except metadata.PackageNotFoundError:
                continue
        return None

    def libraries(self, version: str) -> Libraries:
        """What a release links, in the order in which they need one another."""
        major = version.partition(".")[0]
        return Libraries(tuple(f"{name}.{major}" for name in self.sonames), self.remedy)

    def load(self) -> ModuleType:
        """The imported package; NotAvailable with the loader's words where it does not load."""
        try:
            return import_module(self.module)
        except ImportError as error:
            raise NotAvailable(f"{self.title} does not load ({error})", self.remedy) from error


TENSORRT = Package(
    title="TensorRT",
    runtime="tensorrt",
    module="tensorrt",
    distributions={"tensorrt-cu13": 13, "tensorrt-cu12": 12, "tensorrt": 12},
    sonames=("libnvinfer.so", "libnvinfer_plugin.so", "libnvonnxparser.so"),
    oldest_major=10,
    remedy=TENSORRT_REMEDY,
    times_kernels=True,
)
TENSORRT_RTX = Package(
    title="TensorRT for RTX",
    runtime="tensorrt-rtx",
    module="tensorrt_rtx_bindings",
    distributions={"tensorrt-rtx-cu13-bindings": 13, "tensorrt-rtx-cu12-bindings": 12},
    sonames=("libtensorrt_rtx.so", "libtensorrt_onnxparser_rtx.so"),
    oldest_major=1,
    remedy="pip install 'graphlap[tensorrt-rtx]'",
    times_kernels=False,
)
