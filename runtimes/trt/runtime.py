"""TensorRT itself: an exported file in, an engine for fixed shapes out, built once and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtimes.cuda.options import BUILDER_LEVEL, GPU_OPTIONS
from runtimes.faults import Unsupported
from runtimes.options import SESSIONS, Option
from runtimes.request import Request
from runtimes.session.call_option import CALL
from runtimes.trt.gpu import TensorRtGpu
from runtimes.trt.package import TENSORRT

if TYPE_CHECKING:
    from runtimes.trt.build import BuildSettings

_STRONG_ONLY_MAJOR = 11

STREAMS = Option(
    "streams",
    1,
    "how many execution contexts of one engine run at once",
    minimum=1,
    maximum=64,
)


class TensorRt(TensorRtGpu):
    """TensorRT 10 and 11, which choose their kernels by timing them on the GPU that is there."""

    name = "tensorrt"
    summary = "TensorRT itself"
    package = TENSORRT
    engine = TENSORRT.module
    options = (
        *GPU_OPTIONS,
        Option(
            "typing",
            "strong",
            "tensors keep the graph's types, or flags let the builder choose (TensorRT 10)",
            ("strong", "flags"),
        ),
        BUILDER_LEVEL,
        STREAMS,
        CALL,
        SESSIONS,
    )

    def _refuse(self, request: Request) -> None:
        super()._refuse(request)
        installed = self.package.installed()
        strong_only = installed is not None and int(installed[0].partition(".")[0]) >= (
            _STRONG_ONLY_MAJOR
        )
        if request.options["typing"] == "flags" and strong_only:
            raise Unsupported(
                "TensorRT 11 has no flags for precision, every network keeps its types",
                "set typing=strong",
            )

    def _build_settings(
        self, request: Request, compute_capability: tuple[int, int]
    ) -> BuildSettings:
        from runtimes.trt.build import BuildSettings

        return BuildSettings(
            precision=request.settings.precision,
            tf32=bool(request.options["tf32"]),
            strong=request.options["typing"] == "strong",
            builder_level=int(request.options["builder_level"]),
        )
