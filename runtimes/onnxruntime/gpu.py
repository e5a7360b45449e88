"""GPU providers of ONNX Runtime: session creation with one required provider, the TensorRT engine
cache, checks, and the execution that a session reports.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import struct
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from exporters import install_layout
from exporters.diagnostics import Diagnostic, diagnostic
from exporters.types import axes_key
from runtimes.base import Availability, Session, Unavailable
from runtimes.cuda import runtime
from runtimes.cuda import runtime as cuda_libraries
from runtimes.cuda.options import stated
from runtimes.cuda.runtime import TENSORRT_REMEDY, GpuRuntime, Libraries
from runtimes.errors import NotAvailable, Unsupported
from runtimes.execution import Execution, Memory
from runtimes.onnxruntime.execution import (
    LAUNCHES_WAIT,
    Recording,
    mark_shape_arithmetic,
    opened_and_read,
)
from runtimes.onnxruntime.opening import (
    Opening,
    PassesEntries,
    availability,
    built_for_cuda,
    open_at_earlier_version,
    provider_library,
    session_options,
)
from runtimes.options import Request
from runtimes.session.precision import is_matrix_op

if TYPE_CHECKING:
    import onnxruntime

    from runtimes.cuda.driver import Gpu
    from runtimes.onnxruntime.execution import Executed
    from runtimes.onnxruntime.session import OrtSession


Providers = list[tuple[str, dict[str, str]]]
"""In the order of preference, each with ONNX Runtime's own names of its options."""

_LOADER_WORDS = re.compile(r"Failed to load library \S+ with error: (?P<words>[^\n]+)")


def open_session(
    provider: str,
    request: Request,
    providers: Providers,
    recording: Path | None = None,
) -> onnxruntime.InferenceSession:
    """A session that has `provider`; NotAvailable with the loader's words if it does not."""
    import onnxruntime as ort

    from runtimes.onnxruntime.errors import compile_fault

    options = session_options(replace(Opening.of(request), recording=recording))
    session, failure = None, None
    with runtime.standard_error_captured() as capture:
        try:
            # Without this ONNX Runtime tries again on the CPU after an error of the provider's.
            session = ort.InferenceSession(
                request.model.path, options, providers=providers, enable_fallback=0
            )
        except Exception as error:
            failure = error
    words = _LOADER_WORDS.search(capture.text)
    if session is not None and provider in session.get_providers():
        capture.release()
        return session
    if failure is None or words:
        cause = (
            words["words"].strip() if words else (_last_error(capture.text) or "no reason given")
        )
        raise NotAvailable(
            f"ONNX Runtime did not load {provider} ({cause})",
            f"see {install_layout.PROGRAM} doctor for what is missing",
        )
    capture.release()
    raise compile_fault(failure) from failure


def _last_error(text: str) -> str:
    """The last line that the engine wrote, without its colours, time and source position."""
    lines = [line for line in re.sub(r"\x1b\[[\d;]*m", "", text).splitlines() if line.strip()]
    return re.sub(r"^.*?\[[EWF]:[^\]]*\] ", "", lines[-1]) if lines else ""


_TENSORRT = ("libnvinfer", "libnvonnxparser")
_NVIDIA_PREFIXES = ("libcu", *_TENSORRT)
_DRIVER = "libcuda.so"
# Of Elf64_Ehdr: where the section headers are, and how many.
_ELF_64_BITS, _TABLE, _COUNTS = b"\x7fELF\x02\x01", 0x28, 0x3C
# Elf64_Shdr: the name's offset, type, flags, address, offset, size, number of the texts' section.
_SECTION = struct.Struct("<IIQQQQI20x")
_SHT_DYNAMIC, _DT_NEEDED = 6, 1


def _dependencies(path: Path) -> tuple[str, ...]:
    """The sonames of the libraries that the loader opens with this one; empty for a file that is
    damaged, or no library for 64 bits."""
    sonames = []
    try:
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            if data[: len(_ELF_64_BITS)] != _ELF_64_BITS:
                return ()
            (table,) = struct.unpack_from("<Q", data, _TABLE)
            (count,) = struct.unpack_from("<H", data, _COUNTS)
            headers = [_SECTION.unpack_from(data, table + _SECTION.size * n) for n in range(count)]
            for _, kind, _, _, offset, size, link in headers:
                if kind == _SHT_DYNAMIC:
                    texts = headers[link][4]
                    for tag, value in struct.iter_unpack("<qQ", data[offset : offset + size]):
                        if tag == _DT_NEEDED:
                            end = data.find(b"\0", texts + value)
                            sonames.append(data[texts + value : end].decode("latin-1"))
    except (OSError, ValueError, IndexError, struct.error):
        return ()
    return tuple(sonames)


def linked_libraries(provider: str) -> tuple[str, ...]:
    """The libraries of NVIDIA's that a provider's own library is linked against, besides the
    driver's."""
    library = provider_library(provider)
    sonames = _dependencies(library) if library else ()
    return tuple(s for s in sonames if s.startswith(_NVIDIA_PREFIXES) and not s.startswith(_DRIVER))


def tensorrt_release() -> str:
    """The version of the TensorRT that the provider is linked against, as `10.16.1`."""
    (soname,) = (s for s in linked_libraries("tensorrt") if s.startswith("libnvinfer.so"))
    return runtime.infer_version(soname)


_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")


def engine_folder(request: Request) -> Path | None:
    """A folder of this graph's engines; None where nothing is to be, or can be, kept.

    ONNX Runtime names the files in it by graph and architecture. An engine of another TensorRT
    makes it fail, and one of another GPU with the same architecture is tuned for that GPU: so the
    release and the GPU's name are folders above it.
    """
    model, settings = request.model, request.settings
    if not settings.cache_dir:
        return None
    build = {name: request.options[name] for name in ("tf32", "builder_level")}
    release = tensorrt_release()
    key = json.dumps(
        [model.sha256, axes_key(request.axes), settings.precision, build], sort_keys=True
    )
    name = hashlib.sha256(key.encode()).hexdigest()[:32]
    gpu = next((d.name for d in runtime.devices() if d.key == settings.device), "")
    gpu_folder = _NOT_IN_NAMES.sub("-", gpu) or "gpu"
    folder = Path(settings.cache_dir) / f"ort-tensorrt-{release}" / gpu_folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def copy_engines(request: Request, folder: Path) -> Request:
    """The request with engines kept under `folder`, where copies of the kept ones are.

    The times of operators are those of the engine that was timed. If that is gone, the one that
    is built has been tuned with launches that wait, and must not be found by what is timed later.
    """
    settings = request.settings
    copy_settings = replace(settings, cache_dir=str(folder) if settings.cache_dir else "")
    copy_request = replace(request, settings=copy_settings)
    source_folder, copy_folder = engine_folder(request), engine_folder(copy_request)
    if source_folder is not None and copy_folder is not None:
        shutil.copytree(source_folder, copy_folder, dirs_exist_ok=True)
        for timings in source_folder.parent.glob("*.timing"):
            shutil.copy(timings, copy_folder.parent)
    return copy_request


def cache_warning(providers: Providers, request: Request) -> tuple[Diagnostic, ...]:
    asks = any("trt_builder_optimization_level" in options for _, options in providers)
    cache_folder = request.settings.cache_dir
    if not (asks and cache_folder) or _kept_in(providers) is not None:
        return ()
    return (diagnostic("engine_not_stored", folder=cache_folder),)


def _kept_in(providers: Providers) -> Path | None:
    cache_paths = [options.get("trt_engine_cache_path") for _, options in providers]
    return next((Path(folder) for folder in cache_paths if folder), None)


def engine_files(providers: Providers) -> dict[str, int]:
    folder = _kept_in(providers)
    return {f.name: f.stat().st_mtime_ns for f in folder.glob("*.engine")} if folder else {}


def engine_cache_fact(providers: Providers, files_before: Mapping[str, int]) -> dict[str, str]:
    """Whether the engine came from the cache, as the files in it tell."""
    if _kept_in(providers) is None:
        return {}
    if not files_before:
        return {"engine_cache": "miss"}
    return {"engine_cache": "hit" if engine_files(providers) == files_before else "rebuilt"}


class OrtGpu(PassesEntries, GpuRuntime):
    """A provider on one GPU."""

    provider: ClassVar[str]
    operator_environment = LAUNCHES_WAIT
    engine = "onnxruntime"
    distribution = "onnxruntime-gpu"

    def availability(self) -> Availability:
        state = availability("gpu")
        if isinstance(state, Unavailable):
            return state
        engine = f"ONNX Runtime {state.version}"
        # The driver first, without which no package helps; then the provider's own library, without
        # which nobody knows what else this build would need.
        reason = cuda_libraries.why_not((), 0, engine)
        if reason is None and provider_library(self.name.removeprefix("ort-")) is None:
            reason = Unavailable(
                f"the {engine} that is installed was built without {self.provider}",
                "pip uninstall onnxruntime, then pip install 'graphlap[gpu]'",
            )
        cuda_major = built_for_cuda()
        if reason is None and cuda_major is not None:
            cuda = cuda_libraries.of_cuda(cuda_major)
            sonames = linked_libraries(self.name.removeprefix("ort-"))
            tensorrt = tuple(soname for soname in sonames if soname.startswith(_TENSORRT))
            cuda_sonames = tuple(soname for soname in sonames if soname not in tensorrt)
            groups = (
                cuda,
                Libraries(cuda_sonames, cuda.remedy),
                Libraries(tensorrt, TENSORRT_REMEDY),
            )
            reason = cuda_libraries.why_not(groups, cuda_major, engine)
        return reason or state

    def load(self) -> None:
        from runtimes.onnxruntime import gpu_lane, session  # noqa: F401 - and with them onnxruntime

    def _refuse(self, request: Request) -> None:
        if request.options["cuda_graph"] and request.options["boundary"] == "host":
            raise Unsupported(
                f"{self.name} replays a CUDA graph on the device's own addresses",
                "set boundary=device with it",
            )
        if request.settings.operator_times and not LAUNCHES_WAIT.items() <= os.environ.items():
            variables = " ".join(f"{name}={value}" for name, value in LAUNCHES_WAIT.items())
            raise Unsupported(
                f"{self.name} would report the time of launches, not of kernels",
                f"profile in a process that was started with {variables}",
            )

    def _compile(self, request: Request) -> Session:
        from runtimes.cuda.driver import CudaError, Gpu, compile_fault

        try:
            self._before(request)
            gpu = Gpu(int(request.settings.device))
            try:
                return self._told(
                    request, open_at_earlier_version(partial(self._session, gpu), (request,))
                )
            except BaseException:
                gpu.close()
                raise
        except CudaError as error:
            raise compile_fault(error) from error

    def _session(self, gpu: Gpu, requests: Sequence[Request]) -> OrtSession:
        from runtimes.onnxruntime.gpu_lane import OrtGpuLane, lane_on
        from runtimes.onnxruntime.session import OrtSession

        (request,) = requests
        free_bytes = gpu.free_bytes()
        # A replayed graph runs none of the kernels that a profiler times.
        plain = replace(request, options={**request.options, "cuda_graph": False})
        recording = Recording() if request.settings.operator_times else None
        if recording is not None:
            request = plain = self._with_separate_cache(plain, recording.folder)
        stream = self._stream(request, gpu)
        providers = self._providers(request, stream)
        files_before = engine_files(providers)
        open_it = partial(
            open_session,
            self.provider,
            request,
            providers,
            recording.prefix if recording else None,
        )

        def open_recording(prefix: Path) -> onnxruntime.InferenceSession:
            return open_session(self.provider, plain, self._providers(plain, stream), prefix)

        engine, inspection = opened_and_read(open_it, open_recording, request)
        facts = engine_cache_fact(providers, files_before)
        precision, warnings = self._precision(request, inspection, gpu.compute_capability)
        lane = lane_on(engine, request, gpu, self._has_queue(request))
        execution = Execution(
            provider=self.provider,
            precision=precision,
            device_name=gpu.name,
            call_path=lane.call_path,
            boundary="device" if request.options["boundary"] == "device" else "host",
            placement=mark_shape_arithmetic(inspection.placement, self.provider),
            facts=facts,
            warnings=inspection.warnings + warnings + cache_warning(providers, request),
            inspection_ms=inspection.inspection_ms,
        )
        memory = partial(_memory_use, gpu, free_bytes)
        if not stream or not isinstance(lane, OrtGpuLane):
            return OrtSession(engine, (lane,), execution, recording, memory)
        spans = partial(lane.spans, stream)
        return OrtSession(engine, (lane,), execution, recording, memory, spans)

    def _stream(self, request: Request, gpu: Gpu) -> int:
        """The stream that the provider is to compute on, 0 for one of its own."""
        return 0

    def _has_queue(self, request: Request) -> bool:
        """Whether a run at the device's boundary can be told not to wait for its end."""
        return False

    @abstractmethod
    def _providers(self, request: Request, stream: int) -> Providers:
        """The providers in the order of preference, with ONNX Runtime's own option names."""

    def _with_separate_cache(self, request: Request, folder: Path) -> Request:
        """The request for the times of operators, which is to leave no trace outside `folder`."""
        return request

    def _precision(
        self, request: Request, inspection: Executed, compute_capability: tuple[int, int]
    ) -> tuple[str, tuple[Diagnostic, ...]]:
        """What a row states, and what must be said of it."""
        products = any(is_matrix_op(node.op) for node in inspection.placement)
        is_allowed = bool(request.options["tf32"]) and products
        return stated(inspection.precision, is_allowed, compute_capability), ()


def _memory_use(gpu: Gpu, free_bytes: int) -> Memory:
    """What is less free than before the session was opened: the process has the GPU to itself."""
    return Memory(max(free_bytes - gpu.free_bytes(), 0), of_process=True, told_by="free memory")
