"""Engines of TensorRT: taken from the cache on disk where the whole key agrees, or built and
stored.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from exporters import install_layout
from exporters.diagnostics import Diagnostic, diagnostic
from exporters.types import axes_key
from runtimes.cuda.driver import Gpu
from runtimes.cuda.options import stated
from runtimes.errors import CompileFault, Unsupported
from runtimes.execution import Execution
from runtimes.options import Request
from runtimes.session.precision import UNKNOWN
from runtimes.tensorrt import build
from runtimes.tensorrt import layers as operators
from runtimes.tensorrt.build import BuildSettings, Package
from runtimes.tensorrt.errors import Log, layers_json_of
from runtimes.tensorrt.layers import claimed, described_layers, layers_of

if TYPE_CHECKING:
    import tensorrt


State = Literal["hit", "miss", "stale", "damaged"]
Key = Mapping[str, str | int | bool]


@dataclass(frozen=True, slots=True)
class Found:
    """`payload` is there on a hit alone, `warning` where a file that is there was not used."""

    state: State
    payload: bytes | None = None
    warning: Diagnostic | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the cache: `chosen` names it, `made_by` must agree beside."""

    folder: Path
    kind: str
    chosen: Key
    made_by: Key

    @property
    def path(self) -> Path:
        text = json.dumps(dict(self.chosen), sort_keys=True)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.{self.kind}"

    def find(self) -> Found:
        """What the file holds; an unreadable one counts as damaged."""
        try:
            header, _, payload = self.path.read_bytes().partition(b"\n")
        except (FileNotFoundError, NotADirectoryError):
            return Found("miss")
        except OSError:
            return Found("damaged", warning=diagnostic("engine_rebuilt", cause="unreadable"))
        try:
            metadata = json.loads(header)
            digest, made_by = metadata["sha256"], metadata["made_by"]
        except (ValueError, TypeError, KeyError):
            return Found("damaged", warning=diagnostic("engine_rebuilt", cause="damaged"))
        for name, value in self.made_by.items():
            if made_by.get(name) != value:
                release = str(made_by.get(name))
                stale = diagnostic("engine_of_other_release", component=name, release=release)
                return Found("stale", warning=stale)
        if hashlib.sha256(payload).hexdigest() != digest:
            return Found("damaged", warning=diagnostic("engine_rebuilt", cause="damaged"))
        return Found("hit", payload)

    def keep(self, payload: bytes) -> None:
        """Write the file whole or not at all; OSError if the folder can't be written."""
        header = {
            "chosen": dict(self.chosen),
            "made_by": dict(self.made_by),
            "sha256": hashlib.sha256(payload).hexdigest(),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self.folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(json.dumps(header).encode() + b"\n" + payload)
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def graph_operators(request: Request) -> Mapping[str, str]:
    """Name -> operator of the file's nodes; none where it can't be read."""
    axes = json.dumps(dict(request.axes))
    command = install_layout.starter_command(
        "exporters.onnx_files.inquiries", "nodes", request.model.path, axes
    )
    try:
        nodes = json.loads(install_layout.run_child(command).stdout)["nodes"]
        return {node["name"]: node["op"] for node in nodes}
    except (ValueError, KeyError, TypeError):
        return {}


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
            return self._load_engine(self._build(b"")[0])
        entry, timing = self._entries()
        lookup = entry.find()
        warnings = [] if lookup.warning is None else [lookup.warning]
        if lookup.payload is not None:
            engine = build.load(self.trt, lookup.payload, self.log)
            if engine is not None:
                return Made(engine, len(lookup.payload), "hit")
            warnings.append(diagnostic("engine_rebuilt", cause="refused"))
        data, timings = self._build(timing.find().payload or b"")
        state = "rebuilt" if warnings else "miss"
        try:
            entry.keep(data)
            if timings is not None:
                timing.keep(timings)
        except OSError:
            warnings.append(diagnostic("engine_not_stored", folder=cache_dir))
        return self._load_engine(data, state, tuple(warnings))

    def store(self, build_result: Made, folder: Path) -> None:
        """Write the engine and TensorRT's description of its layers, which other tools read, where
        they are not there yet; Unsupported for a folder that can't be written."""
        entry, _ = self._entries()
        path = folder / f"{self.request.model.name}-{entry.path.stem}.engine"
        engine = build_result.loaded[1]
        texts = {
            path: bytes(engine.serialize()),
            path.with_suffix(".layers.json"): build.layers_json(self.trt, engine).encode(),
        }
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for target, data in texts.items():
                if not target.exists():
                    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
                    partial.write_bytes(data)
                    partial.replace(target)
        except OSError as error:
            raise Unsupported(
                f"engine_dir: {folder} cannot be written ({error.strerror})", "name another folder"
            ) from error

    def execution(self, built_engine: Made) -> Execution:
        """What the loaded engine tells of itself; a precision that it does not tell is unknown."""
        warnings, title = built_engine.warnings, self.package.title
        start_time = time.perf_counter()
        try:
            layers = described_layers(build.layers_json(self.trt, built_engine.loaded[1]))
            placement = operators.placement(layers, title)
            precision, type_warnings = claimed(layers, partial(graph_operators, self.request))
            warnings += type_warnings
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
            facts={"engine_cache": built_engine.cache} if built_engine.cache else {},
            warnings=warnings,
            inspection_ms=(time.perf_counter() - start_time) * 1e3,
        )

    def _build(self, timing: bytes) -> tuple[bytes, bytes | None]:
        timing_cache = timing if self.package.times_kernels else None
        return build.build(self.trt, self.request, self.wanted, timing_cache, self.log)

    def _load_engine(
        self, data: bytes, cache: str = "", warnings: tuple[Diagnostic, ...] = ()
    ) -> Made:
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
        release = self.package.installed()
        capability = ".".join(map(str, self.gpu.compute_capability))
        device = {"gpu": self.gpu.name, "compute_capability": capability}
        made_by = {self.package.title: release[0] if release else ""}
        axes = axes_key(request.axes)
        graph = {"sha256": request.model.sha256, "axes": axes, **asdict(self.wanted)}
        return Entry(folder, "engine", {**graph, **device}, made_by), Entry(
            folder, "timing", device, made_by
        )


def built_execution(
    title: str,
    layers_text: str,
    node_operators: Mapping[str, str],
    compute_capability: tuple[int, int],
) -> Execution | None:
    """What the builder said of an engine that can't be loaded here; None where it said nothing.

    `layers_text` are its words of the layers, `node_operators` the operators of the graph's nodes.
    """
    layers = layers_of(layers_json_of(layers_text))
    if not layers:
        return None
    precision, type_warnings = claimed(layers, lambda: node_operators)
    return Execution(
        provider=title,
        precision=precision,
        device_name="compute capability {}.{}".format(*compute_capability),
        call_path="",
        placement=operators.placement(layers, title),
        warnings=type_warnings,
    )
