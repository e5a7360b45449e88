"""ONNX Runtime's CUDA provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from exporters.types import Precision
from runtimes.cuda.options import GPU_OPTIONS
from runtimes.options import SESSIONS, Option
from runtimes.ort.gpu import OrtGpu
from runtimes.ort.gpu_open import Providers
from runtimes.ort.opening import flag
from runtimes.request import Request

_CUDNN_SEARCH = {"exhaustive": "EXHAUSTIVE", "heuristic": "HEURISTIC", "default": "DEFAULT"}
_ARENA = {"power_of_two": "kNextPowerOfTwo", "as_requested": "kSameAsRequested"}


class OrtCuda(OrtGpu):
    """The CUDA provider. An int8 file runs there in fp32 between its quantisers."""

    name = "ort-cuda"
    summary = "ONNX Runtime, CUDA provider"
    provider = "CUDAExecutionProvider"
    precisions: ClassVar[tuple[Precision, ...]] = ("fp32", "fp16")
    unexecuted: ClassVar[Mapping[Precision, str]] = {
        **OrtGpu.unexecuted,
        "bf16": "not all of the CUDA provider's products take",
    }
    options = (
        *GPU_OPTIONS,
        Option(
            "cudnn_search",
            "exhaustive",
            "how a convolution's algorithm is found: by timing, by rule, or cuDNN's first",
            tuple(_CUDNN_SEARCH),
        ),
        Option(
            "arena_growth",
            "power_of_two",
            "how the provider's memory arena is extended",
            tuple(_ARENA),
        ),
        Option("prefer_nhwc", False, "convolutions run with their channels innermost in memory"),
        Option(
            "cudnn_conv_use_max_workspace",
            True,
            "a convolution's algorithm may use as much memory as it likes, or 32 MB",
        ),
        SESSIONS,
    )

    def _has_queue(self, request: Request) -> bool:
        # Releases differ in whether they wait for a graph that they replay.
        return not request.options["cuda_graph"]

    def _providers(self, request: Request) -> Providers:
        options = request.options
        wanted = {
            "device_id": request.settings.device,
            "use_tf32": flag(options["tf32"]),
            "enable_cuda_graph": flag(options["cuda_graph"]),
            "cudnn_conv_algo_search": _CUDNN_SEARCH[str(options["cudnn_search"])],
            "arena_extend_strategy": _ARENA[str(options["arena_growth"])],
            "prefer_nhwc": flag(options["prefer_nhwc"]),
            "cudnn_conv_use_max_workspace": flag(options["cudnn_conv_use_max_workspace"]),
        }
        return [(self.provider, wanted)]
