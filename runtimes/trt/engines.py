"""Where a session's engine comes from: kept by an earlier run, or built here and kept."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from exporters.types import axes_key
from runtimes.cuda.driver import Gpu
from runtimes.cuda.options import stated
from runtimes.execution import Execution
from runtimes.faults import CompileFault
from runtimes.request import Request
from runtimes.session.precision import UNKNOWN
from runtimes.trt import build, operators
from runtimes.trt.build import BuildSettings
from runtimes.trt.cache import Entry
from runtimes.trt.faults import Log
from runtimes.trt.graph_operators import graph_operators
from runtimes.trt.layers import described_layers, layers_of
from runtimes.trt.package import Package
from runtimes.trt.products import claimed
from runtimes.trt.told_layers import layers_json_of

if TYPE_CHECKING:
    import tensorrt


@dataclass(frozen=True, slots=True)
class Made:
    """A loaded engine with how it came to be.

    `cache` is hit, miss, rebuilt, or empty where nothing is kept; `plan_bytes` its size as a file.
    """

    loaded: tuple[tensorrt.Runtime, tensorrt.ICudaEngine]
    plan_bytes: int
    cache: str = ""
    warnings: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes the engine of one request for one GPU with one package."""

    package: Package
    trt: ModuleType
    request: Request
    wanted: BuildSettings
    gpu: Gpu
    log: Log

    def made(self) -> Made:
        """The kept engine where it still fits, else one that is built and kept."""
        cache_dir = self.request.settings.cache_dir
        if not cache_dir:
            return self._loaded(self._build(b"")[0])
        entry, timing = self._entries()
        found = entry.find()
        reason = found.reason
        if found.payload is not None:
            loaded = build.load(self.trt, found.payload, self.log)
            if loaded is not None:
                return Made(loaded, len(found.payload), "hit")
            reason = "refused by TensorRT"
        data, timings = self._build(timing.find().payload or b"")
        warnings = [diagnostic("engine_rebuilt", reason=reason)] if reason else []
        try:
            entry.keep(data)
            if timings is not None:
                timing.keep(timings)
        except OSError:
            warnings.append(diagnostic("engine_not_stored", folder=cache_dir))
        return self._loaded(data, "rebuilt" if reason else "miss", tuple(warnings))

    def execution(self, made: Made) -> Execution:
        """What the loaded engine tells of itself; a precision that it does not tell is unknown."""
        warnings, title = made.warnings, self.package.title
        begun = time.perf_counter()
        try:
            layers = described_layers(build.layers_json(self.trt, made.loaded[1]))
            placement = operators.placement(layers, title)
            precision, mixed = claimed(layers, partial(graph_operators, self.request))
            warnings += mixed
        except (ValueError, KeyError, AttributeError) as error:
            placement, precision = (), UNKNOWN
            warnings += (diagnostic("precision_unreadable", error=str(error)),)
        options, capability = self.request.options, self.gpu.compute_capability
        return Execution(
            provider=title,
            precision=stated(precision, bool(options["tf32"]), capability),
            device_name=self.gpu.name,
            call_path="",
            boundary="device" if options["boundary"] == "device" else "host",
            placement=placement,
            facts={"engine_cache": made.cache} if made.cache else {},
            warnings=warnings,
            inspection_ms=(time.perf_counter() - begun) * 1e3,
        )

    def _build(self, timing: bytes) -> tuple[bytes, bytes | None]:
        known = timing if self.package.times_kernels else None
        return build.build(self.trt, self.request, self.wanted, known, self.log)

    def _loaded(self, data: bytes, cache: str = "", warnings: tuple[Diagnostic, ...] = ()) -> Made:
        loaded = build.load(self.trt, data, self.log)
        if loaded is None:
            raise self.log.fault(
                CompileFault, "TensorRT could not load its own engine", "see nvidia-smi"
            )
        return Made(loaded, len(data), cache, warnings)

    def _entries(self) -> tuple[Entry, Entry]:
        """The files of this engine and of the timings that all engines of the GPU share."""
        request = self.request
        folder = Path(request.settings.cache_dir) / self.package.runtime
        installed = self.package.installed()
        capability = ".".join(map(str, self.gpu.compute_capability))
        device = {"gpu": self.gpu.name, "compute_capability": capability}
        made_by = {self.package.title: installed[0] if installed else ""}
        axes = axes_key(request.axes)
        graph = {"sha256": request.model.sha256, "axes": axes, **asdict(self.wanted)}
        return Entry(folder, "engine", {**graph, **device}, made_by), Entry(
            folder, "timing", device, made_by
        )


def built_execution(
    title: str, told: str, known: Mapping[str, str], compute_capability: tuple[int, int]
) -> Execution | None:
    """What the builder said of an engine that can't be loaded here; None where it said nothing.

    `told` are its words of the layers, `known` the operators of the graph's nodes.
    """
    layers = layers_of(layers_json_of(told))
    if not layers:
        return None
    precision, mixed = claimed(layers, lambda: known)
    return Execution(
        provider=title,
        precision=precision,
        device_name="compute capability {}.{}".format(*compute_capability),
        call_path="",
        placement=operators.placement(layers, title),
        warnings=mixed,
    )
