"""TensorRT itself: an exported file in, an engine for fixed shapes out, built once and kept."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from exporters.types import Precision, axes_key
from runtimes.base import Availability, Available, Session, Unavailable
from runtimes.cuda import libraries as cuda_libraries
from runtimes.cuda.libraries import TENSORRT_REMEDY, Libraries
from runtimes.cuda.options import BOUNDARY, CUDA_GRAPH, TF32, stated
from runtimes.cuda.runtime import GpuRuntime
from runtimes.execution import Execution
from runtimes.faults import CompileFault, OutOfMemory, Unsupported
from runtimes.options import SESSIONS, Option
from runtimes.request import Request
from runtimes.session.call_option import CALL
from runtimes.session.precision import UNKNOWN, of_graph
from runtimes.trt.cache import Entry

if TYPE_CHECKING:
    from runtimes.cuda.driver import Gpu
    from runtimes.trt.build import BuildSettings
    from runtimes.trt.faults import Log
    from runtimes.trt.session import LoadedEngine

# The package and the CUDA release that it is built for.
_PACKAGES = {"tensorrt-cu13": 13, "tensorrt-cu12": 12, "tensorrt": 12}
_OLDEST_MAJOR = 10
_STRONG_ONLY_MAJOR = 11

OPTIONS = (
    BOUNDARY,
    CUDA_GRAPH,
    TF32,
    Option(
        "typing",
        "strong",
        "tensors keep the graph's types, or flags let the builder choose (TensorRT 10)",
        ("strong", "flags"),
    ),
    Option("builder_level", 3, "how long the builder looks for faster kernels", (0, 1, 2, 3, 4, 5)),
    Option(
        "streams",
        1,
        "how many execution contexts of one engine run at once",
        minimum=1,
        maximum=64,
    ),
    CALL,
    SESSIONS,
)


class TensorRt(GpuRuntime):
    """The parser, the builder and `execute_async_v3` over named tensors."""

    name = "tensorrt"
    summary = "TensorRT itself"
    options = OPTIONS
    precisions: ClassVar[tuple[Precision, ...]] = ("fp32", "fp16", "int8")

    def availability(self) -> Availability:
        installed = installed_release()
        if installed is None:
            # The driver comes first all the same: without one the package does not help.
            return cuda_libraries.why_not((), 0, "TensorRT") or Unavailable(
                "the package tensorrt is not installed", TENSORRT_REMEDY
            )
        version, cuda_major = installed
        major = version.partition(".")[0]
        names = ("nvinfer", "nvinfer_plugin", "nvonnxparser")
        libraries = Libraries(tuple(f"lib{name}.so.{major}" for name in names), TENSORRT_REMEDY)
        reason = cuda_libraries.why_not((libraries,), cuda_major, f"TensorRT {version}")
        if reason is None and int(major) < _OLDEST_MAJOR:
            reason = Unavailable(f"TensorRT {version} is older than 10", TENSORRT_REMEDY)
        return reason or Available(version)

    def load(self) -> None:
        from runtimes.trt import session  # noqa: F401 - and with it tensorrt

    def _refuse(self, request: Request) -> None:
        installed = installed_release()
        strong_only = installed is not None and int(installed[0].partition(".")[0]) >= (
            _STRONG_ONLY_MAJOR
        )
        if request.options["typing"] == "flags" and strong_only:
            raise Unsupported(
                "TensorRT 11 has no flags for precision, every network keeps its types",
                "set typing=strong",
            )

    def _compile(self, request: Request) -> Session:
        from runtimes.cuda import driver
        from runtimes.trt.build import BuildSettings
        from runtimes.trt.faults import Log
        from runtimes.trt.session import TensorRtSession

        options = request.options
        wanted = BuildSettings(
            precision=request.settings.precision,
            strong=options["typing"] == "strong",
            tf32=bool(options["tf32"]),
            builder_level=int(options["builder_level"]),
        )
        log = Log()
        try:
            gpu = driver.Gpu(int(request.settings.device))
            try:
                made = _engine(request, wanted, gpu, log)
                execution = _execution(request, made, gpu)
                return TensorRtSession(request, made.loaded, execution, gpu, log)
            except BaseException:
                gpu.close()
                raise
        except driver.CudaError as error:
            if error.code == driver.OUT_OF_MEMORY:
                raise OutOfMemory(
                    "the GPU's memory is too small for the engine", "use a smaller batch"
                ) from error
            raise CompileFault(f"the CUDA driver failed ({error})", "see nvidia-smi") from error


@dataclass(frozen=True, slots=True)
class _Made:
    """An engine with how it came to be: `cache` is hit, miss, rebuilt, or empty without one."""

    loaded: LoadedEngine
    cache: str
    warnings: tuple[str, ...]


def installed_release() -> tuple[str, int] | None:
    """(version, CUDA major) of the installed package; None if there is none."""
    if find_spec("tensorrt") is None:
        return None
    for package, cuda_major in _PACKAGES.items():
        try:
            return metadata.version(package), cuda_major
        except metadata.PackageNotFoundError:
            continue
    return None


def _engine(request: Request, wanted: BuildSettings, gpu: Gpu, log: Log) -> _Made:
    """The kept engine where it still fits, else one that is built and kept."""
    from runtimes.trt import build

    cache_dir = request.settings.cache_dir
    if not cache_dir:
        return _Made(_built(build.build(request, wanted, b"", log)[0], log), "", ())
    entry, timing = _entries(request, wanted, gpu)
    found = entry.find()
    reason = found.reason
    if found.payload is not None:
        loaded = build.load(found.payload, log)
        if loaded is not None:
            return _Made(loaded, "hit", ())
        reason = "was refused by TensorRT"
    known = timing.find().payload
    data, timings = build.build(request, wanted, known or b"", log)
    warnings = [f"the kept engine {reason} and was built again"] if reason else []
    try:
        entry.keep(data)
        timing.keep(timings)
    except OSError as error:
        warnings.append(
            f"the engine could not be kept in {cache_dir} ({error.strerror}): "
            "give a folder that can be written"
        )
    return _Made(_built(data, log), "rebuilt" if reason else "miss", tuple(warnings))


def _built(data: bytes, log: Log) -> LoadedEngine:
    from runtimes.trt import build

    loaded = build.load(data, log)
    if loaded is None:
        raise log.fault(CompileFault, "TensorRT could not load its own engine", "see nvidia-smi")
    return loaded


def _entries(request: Request, wanted: BuildSettings, gpu: Gpu) -> tuple[Entry, Entry]:
    """The files of this engine and of the timings that all engines of the GPU share."""
    folder = Path(request.settings.cache_dir) / "tensorrt"
    installed = installed_release()
    capability = ".".join(map(str, gpu.compute_capability))
    device = {"gpu": gpu.name, "compute_capability": capability}
    made_by = {"TensorRT": installed[0] if installed else ""}
    axes = axes_key(request.axes)
    graph = {"sha256": request.model.sha256, "axes": axes, **asdict(wanted)}
    return Entry(folder, "engine", graph | device, made_by), Entry(
        folder, "timing", device, made_by
    )


def _execution(request: Request, made: _Made, gpu: Gpu) -> Execution:
    from runtimes.trt import build, operators

    warnings = made.warnings
    try:
        placement = operators.placement(build.layers_json(made.loaded[1]))
        precision, mixed = of_graph(placement)
        warnings += mixed
    except (ValueError, KeyError, AttributeError) as error:
        placement, precision = (), UNKNOWN
        warnings += (f"the executed precision could not be read ({error})",)
    return Execution(
        provider=operators.PROVIDER,
        precision=stated(precision, bool(request.options["tf32"]), gpu.compute_capability),
        device_name=gpu.name,
        call_path="",
        boundary="device" if request.options["boundary"] == "device" else "host",
        placement=placement,
        facts={"engine_cache": made.cache} if made.cache else {},
        warnings=warnings,
    )
