"""ONNX Runtime's CUDA and TensorRT providers as runtimes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from exporters.diagnostics import Diagnostic, diagnostic
from exporters.types import Precision
from runtimes.base import Availability, Available, Session
from runtimes.cuda import options as tf32
from runtimes.cuda.options import BUILDER_LEVEL, GPU_OPTIONS, TF32, stated
from runtimes.errors import Unsupported
from runtimes.onnxruntime.gpu import (
    OrtGpu,
    Providers,
    copy_engines,
    engine_folder,
    tensorrt_release,
)
from runtimes.onnxruntime.opening import flag, is_at_least
from runtimes.options import SESSIONS, Option, Request, Settings, all_options
from runtimes.session.precision import INTEGER, UNKNOWN

if TYPE_CHECKING:
    from runtimes.cuda.driver import Gpu
    from runtimes.onnxruntime.execution import Executed


_CUDNN_SEARCH = {"exhaustive": "EXHAUSTIVE", "heuristic": "HEURISTIC", "default": "DEFAULT"}
# It waited for a replayed graph whatever a run asked: github.com/microsoft/onnxruntime/pull/28686,
# merged in May 2026; the check `run has waited` and `runs ahead` of tests/gpu hold against it.
_REPLAY_QUEUED_SINCE = (1, 31)
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
        return not request.options["cuda_graph"] or is_at_least(_REPLAY_QUEUED_SINCE)

    def _stream(self, request: Request, gpu: Gpu) -> int:
        """Our own stream at the device's boundary: its events give a run's time on the GPU."""
        return gpu.stream().value or 0 if request.options["boundary"] == "device" else 0

    def _providers(self, request: Request, stream: int) -> Providers:
        options = request.options
        provider_options = {
            "device_id": request.settings.device,
            "use_tf32": flag(options["tf32"]),
            "enable_cuda_graph": flag(options["cuda_graph"]),
            "cudnn_conv_algo_search": _CUDNN_SEARCH[str(options["cudnn_search"])],
            "arena_extend_strategy": _ARENA[str(options["arena_growth"])],
            "prefer_nhwc": flag(options["prefer_nhwc"]),
            "cudnn_conv_use_max_workspace": flag(options["cudnn_conv_use_max_workspace"]),
        }
        if stream:
            provider_options["user_compute_stream"] = str(stream)
        return [(self.provider, provider_options)]


class OrtTensorRt(OrtGpu):
    """The TensorRT provider; what it does not take goes to CUDA and makes the row partial."""

    name = "ort-tensorrt"
    summary = "ONNX Runtime, TensorRT provider"
    provider = "TensorrtExecutionProvider"
    precisions: ClassVar[tuple[Precision, ...]] = ("fp32", "fp16", "bf16", "int8")
    options = (
        *GPU_OPTIONS,
        BUILDER_LEVEL,
        SESSIONS,
    )

    def availability(self) -> Availability:
        state = super().availability()
        if isinstance(state, Available):
            return Available(f"{state.version} with TensorRT {tensorrt_release()}")
        return state

    def environment(self, settings: Settings) -> Mapping[str, str | None]:
        is_allowed = all_options(self.options, settings.options)[TF32.name]
        return {**super().environment(settings), **tf32.environment(bool(is_allowed))}

    def _compile(self, request: Request) -> Session:
        set_tf32_of_process(bool(request.options["tf32"]))
        return super()._compile(request)

    def _providers(self, request: Request, stream: int) -> Providers:
        settings, options = request.settings, request.options
        provider_options = {
            "device_id": settings.device,
            "trt_cuda_graph_enable": flag(options["cuda_graph"]),
            "trt_fp16_enable": flag(settings.precision == "fp16"),
            "trt_bf16_enable": flag(settings.precision == "bf16"),
            "trt_int8_enable": flag(settings.precision == "int8"),
            "trt_builder_optimization_level": str(options["builder_level"]),
        }
        folder = engine_folder(request)
        if folder is not None:
            provider_options |= {
                "trt_engine_cache_enable": "1",
                "trt_engine_cache_path": str(folder),
                "trt_timing_cache_enable": "1",
                "trt_timing_cache_path": str(folder.parent),
            }
        rest = {"device_id": settings.device, "use_tf32": flag(options["tf32"])}
        return [(self.provider, provider_options), (OrtCuda.provider, rest)]

    def _with_separate_cache(self, request: Request, folder: Path) -> Request:
        return copy_engines(request, folder)

    def _precision(
        self, request: Request, inspection: Executed, compute_capability: tuple[int, int]
    ) -> tuple[str, tuple[Diagnostic, ...]]:
        """ONNX Runtime sees a fused graph as one kernel, so the builder's rules decide.

        Without a flag for a narrower type the builder has fp32 kernels alone; with one it
        may still choose fp32 for any layer, and ONNX Runtime does not tell.
        """
        if inspection.precision == INTEGER:
            return INTEGER, ()
        precision = request.settings.precision
        if precision == "fp32":
            rounding = bool(request.options["tf32"])
            if not rounding and not tf32.surely_forbidden():
                return UNKNOWN, (_TOO_LATE,)
            return stated("fp32", rounding, compute_capability), ()
        return UNKNOWN, (diagnostic("precision_chosen_by_engine", allowed=precision),)


_TOO_LATE = diagnostic("tf32_forbidden_late", variable=tf32.VARIABLE)
_tf32_of_process: list[bool] = []


def set_tf32_of_process(allowed: bool) -> None:
    """Tell NVIDIA's libraries, which read the variable once, whether TF32 may be used.

    ONNX Runtime has no option for it: https://github.com/microsoft/onnxruntime/issues/26029.
    Unsupported if this process has been told otherwise before.
    """
    if _tf32_of_process and _tf32_of_process[0] != allowed:
        raise Unsupported(
            "TensorRT's use of TF32 is fixed for the life of a process, and was set before",
            "use another process",
        )
    _tf32_of_process[:] = [allowed]
    for name, value in tf32.environment(allowed).items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
