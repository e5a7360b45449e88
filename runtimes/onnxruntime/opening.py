"""Opening of ONNX Runtime's sessions, its release, and the same settings as program text.

A session configuration has entries that options pass on, and ours. A release that does not open
the file's own IR version opens a copy at an earlier one: it numbers the format of the file, not its
operators, so a graph that uses nothing new of a format is the same graph in an earlier one. The
file that a case names stays as it is.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, ClassVar

from exporters import install_layout
from exporters.diagnostics import diagnostic
from exporters.types import InvalidValue, Precision
from runtimes.base import Availability, Available, Runtime, Session, Unavailable
from runtimes.cuda.options import built_for
from runtimes.errors import NotAvailable, Unsupported
from runtimes.onnxruntime.errors import LaterIrVersion
from runtimes.options import SESSIONS, Option, OptionValue, Request, Usage, Used, triton_config
from runtimes.session.precision import saturates_int8

if TYPE_CHECKING:
    import onnxruntime


PREFIX = "session."
RECORD_ASSIGNMENT = "session.record_ep_graph_assignment_info"
WEIGHTS_OF_GRAPH = "session.optimized_model_external_initializers_file_name"
WIDE_SUMS = "session.x64quantprecision"
"""Int8 products are added up in 32 bits where a processor without VNNI would saturate at 16."""

WIDENING_FAULT = "Attempt to replace the existing tensor"
"""What ONNX Runtime 1.31 says where that fails, as for some graphs with several products."""

RESERVED_KEYS: Mapping[str, str] = {
    "session.graph_optimization_level": "graph_optimization",
    "session.execution_mode": "execution_mode",
    "session.enable_mem_pattern": "memory_pattern",
    "session.enable_cpu_mem_arena": "memory_arena",
    "session.intra_op_num_threads": "",
    "session.inter_op_num_threads": "",
    "session.enable_profiling": "",
    "session.log_severity_level": "",
    "session.optimized_model_filepath": "",
    WEIGHTS_OF_GRAPH: "",
    RECORD_ASSIGNMENT: "",
}
"""Entries of which the value is ours in every session, with the option that decides it."""
BY_OPTION: Mapping[str, str] = {
    "session.intra_op.allow_spinning": "intra_op_spinning",
    "session.inter_op.allow_spinning": "inter_op_spinning",
    "session.set_denormal_as_zero": "flush_denormals",
}
"""The same of entries that only runtimes with the option set."""


def keys_meant(option: str) -> tuple[str, ...]:
    """The keys that an option `session.KEY` may stand for; of one that itself begins so, the prefix
    may be left out once."""
    key = option.removeprefix(PREFIX)
    return (key, option) if "." in key else (option,)


@dataclass(frozen=True, slots=True)
class SessionEntry(Option):
    """An option of one entry; `refusal` is what to do instead of setting it."""

    refusal: str = ""

    def parse(self, text: str) -> OptionValue:
        if self.refusal:
            raise InvalidValue(f"{self.name} is set by Graphlap itself", self.refusal)
        return text


class PassesEntries(Runtime):
    """A runtime whose options `session.KEY` are entries of its session's configuration."""

    patterns: ClassVar[tuple[Option, ...]] = (
        Option("session.KEY", "", "an entry of ONNX Runtime's session configuration"),
    )

    def options_for(self, option_names: Iterable[str]) -> tuple[Option, ...]:
        names = {*option_names}
        entries = {name for name in names if name.startswith(PREFIX)}
        more = (SessionEntry(n, "", self.patterns[0].help, refusal=self._use(n)) for n in entries)
        return (
            *super().options_for(names - entries),
            *sorted(more, key=lambda option: option.name),
        )

    def _use(self, option: str) -> str:
        """What to use instead of an entry that we set; "" for any other."""
        own_options = {option.name for option in self.options}
        for key in keys_meant(option):
            name = RESERVED_KEYS.get(key, BY_OPTION.get(key, ""))
            if name in own_options:
                return f"use --option {self.name}.{name}"
            if key in RESERVED_KEYS:
                return "use --threads" if key.endswith("_threads") else "leave it out"
        return ""


LOG_ERRORS = 3
_BUILD_INFO = "build_and_package_info.py"
_VERSION = re.compile(r"^__version__ = [\"']([^\"']+)", re.MULTILINE)

OLDEST = (1, 24)
"""The first release that reports which node it put where: with several providers it has to."""
OLDEST_ON_CPU = (1, 17)
"""The first release whose C interface has all that a session on the CPU needs. Without another
provider every node is the CPU's, and the profile of a run names them."""


def installed_release() -> str | None:
    """The version of the installed module, read without importing it; None if there is none.

    A dozen packages install it: onnxruntime, onnxruntime-gpu, onnxruntime-openvino and others.
    """
    folder = _folder()
    if folder is None:
        return None
    match = _VERSION.search((folder / "__init__.py").read_text("utf-8"))
    return match.group(1) if match else "unknown"


def availability(extra: str, oldest: tuple[int, int] = OLDEST) -> Availability:
    """Whether the installed ONNX Runtime, of whatever package, is there and new enough."""
    version = installed_release()
    if version is None:
        return Unavailable("ONNX Runtime is not installed", f"pip install 'graphlap[{extra}]'")
    if _is_older(version, oldest):
        return Unavailable(
            f"ONNX Runtime {version} is older than {'.'.join(map(str, oldest))}",
            f"pip install --upgrade 'graphlap[{extra}]'",
        )
    return Available(version)


def is_at_least(release: tuple[int, int]) -> bool:
    """Whether the installed module is of this release or a later one."""
    version = installed_release()
    return version is not None and not _is_older(version, release)


def _is_older(version: str, release: tuple[int, int]) -> bool:
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return numbers is not None and tuple(map(int, numbers.groups())) < release


def provider_library(name: str) -> Path | None:
    """The file of that library; None without one."""
    folder = _folder()
    libraries = (folder / "capi").glob(f"*onnxruntime_providers_{name}.*") if folder else ()
    return next(iter(libraries), None)


def built_for_cuda() -> int | None:
    """The major CUDA release that the installed build says it is for; None if it says none."""
    folder = _folder()
    return built_for(folder / "capi" / _BUILD_INFO, "cuda_version") if folder else None


def capi_folder() -> Path:
    """Where the libraries of the installed module lie."""
    folder = _folder()
    if folder is None:
        raise NotAvailable("ONNX Runtime is not installed", "pip install 'graphlap[cpu]'")
    return folder / "capi"


def _folder() -> Path | None:
    """Where the module lies; None also for a folder that only has its name."""
    spec = find_spec("onnxruntime")
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def _passed_entries(options: Mapping[str, OptionValue]) -> dict[str, str]:
    """The entries of a request's options; Unsupported for one that the library does not have."""
    entries = {}
    for option, value in options.items():
        if not option.startswith(PREFIX) or value == "":
            continue
        build = "libonnxruntime.so*" if options.get("build") == "library" else "*pybind11_state*"
        keys = [key for key in keys_meant(option) if _library_has(build, key)]
        if not keys:
            raise Unsupported(
                f"{option}: the loaded ONNX Runtime has no session config entry of this key",
                "write it as its onnxruntime_session_options_config_keys.h does",
            )
        entries[keys[0]] = str(value)
    return entries


@cache
def _library_has(build: str, key: str) -> bool:
    """Whether the key is a string of one of the installed libraries of that name."""
    pattern = re.compile(rb"\0" + re.escape(key.encode()) + rb"\0")
    for path in capi_folder().glob(build):
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            if pattern.search(text):
                return True
    return False


@dataclass(frozen=True, slots=True)
class OnDevice:
    """A device of a provider that is registered, and what the provider is told.

    `number` is the device's place in the list that both interfaces give. With `own_memory` the
    provider computes on memory of its own, to which inputs are copied.
    """

    number: int
    options: Mapping[str, str]
    own_memory: bool = False


@dataclass(frozen=True, slots=True)
class Opening:
    """What a session is opened with, by whichever of the engine's interfaces.

    `device` comes before the CPU, which has what is left; without one there is the CPU alone.

    `level` is how far the graph is rewritten, in the words of the option `graph_optimization`.
    With `recording` the session writes the times of its kernels to a file that begins so, with
    `graph` the graph that it runs to this file, and its weights beside it.
    """

    axes: Mapping[str, int]
    threads: int
    custom_ops: tuple[str, ...] = ()
    level: str = "all"
    parallel: bool = False
    memory_pattern: bool = True
    memory_arena: bool = True
    entries: Mapping[str, str] = field(default_factory=dict)
    recording: Path | None = None
    graph: Path | None = None
    device: OnDevice | None = None

    @staticmethod
    def of(request: Request) -> Opening:
        """What all providers are opened with."""
        return Opening(
            request.fixed_axes,
            request.settings.threads,
            request.model.custom_ops,
            entries={RECORD_ASSIGNMENT: "1", **_passed_entries(request.options)},
        )

    @property
    def copies_inputs(self) -> bool:
        """Whether a run is to begin with the host's inputs, which a binding would copy once."""
        return self.device is not None and self.device.own_memory

    @property
    def inter_op_threads(self) -> int:
        """Nodes beside each other only where they may be."""
        return self.threads if self.parallel else 1


LEVELS: Mapping[str, int] = {"all": 99, "extended": 2, "basic": 1, "off": 0}
"""GraphOptimizationLevel of the C interface, by the words of the option."""

GRAPH_OPTIMIZATION = Option(
    "graph_optimization", "all", "how far the graph is rewritten before it runs", tuple(LEVELS)
)


def session_options(opening: Opening) -> onnxruntime.SessionOptions:
    """The same for the Python interface; Unsupported for a library of operators that is not to
    be had."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = LOG_ERRORS
    options.intra_op_num_threads = opening.threads
    options.inter_op_num_threads = opening.inter_op_threads
    options.enable_mem_pattern = opening.memory_pattern
    options.enable_cpu_mem_arena = opening.memory_arena
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel(LEVELS[opening.level])
    if opening.parallel:
        options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
    for name, value in opening.entries.items():
        options.add_session_config_entry(name, value)
    for axis, size in opening.axes.items():
        options.add_free_dimension_override_by_name(axis, size)
    for library in opening.custom_ops:
        try:
            options.register_custom_ops_library(library)
        except Exception as error:
            raise refused_operators(library) from error
    if opening.recording is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(opening.recording)
    if opening.graph is not None:
        options.optimized_model_filepath = str(opening.graph)
        options.add_session_config_entry(WEIGHTS_OF_GRAPH, f"{opening.graph.name}.weights")
    if opening.device is not None:
        ep_device = onnxruntime.get_ep_devices()[opening.device.number]
        options.add_provider_for_devices([ep_device], dict(opening.device.options))
    return options


def refused_operators(library: str) -> Unsupported:
    """What a library is answered with that the engine does not take."""
    return Unsupported(
        f"ONNX Runtime cannot take the operators of {Path(library).name}",
        "give --custom-ops a library built for this ONNX Runtime",
    )


def flag(value: OptionValue) -> str:
    """A yes or no in the words of ONNX Runtime's options."""
    return "1" if value else "0"


def cpu_entries(precision: Precision, options: Mapping[str, OptionValue]) -> dict[str, str]:
    """What the CPU provider's session is configured with; `precision` is the one asked for.

    A graph that we converted to int8 has weights with signs. Without VNNI the kernels for them add
    two products in 16 bits, which saturates.
    """
    entries = {key: flag(options[option]) for key, option in BY_OPTION.items()}
    if precision == "int8" and saturates_int8():
        entries[WIDE_SUMS] = "1"
    return entries


_LEVELS = {level: f"ENABLE_{level.upper()}" for level in LEVELS} | {"off": "DISABLE_ALL"}
# What Triton's backend calls them; its own default is everything.
_TRITON_LEVELS = {"extended": 1, "basic": -1, "off": 2}


def usage(setup: Used) -> Usage:
    """Of the CPU provider."""
    settings, options = setup.settings, setup.settings.options
    parallel = options["execution_mode"] == "parallel"
    level = str(options["graph_optimization"])
    lines = [
        "import onnxruntime as ort",
        "",
        "options = ort.SessionOptions()",
        f"options.intra_op_num_threads = {settings.threads}",
        f"options.inter_op_num_threads = {settings.threads if parallel else 1}",
        f"options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_{_LEVELS[level]}",
        f"options.enable_mem_pattern = {bool(options['memory_pattern'])}",
        f"options.enable_cpu_mem_arena = {bool(options['memory_arena'])}",
    ]
    if parallel:
        lines.append("options.execution_mode = ort.ExecutionMode.ORT_PARALLEL")
    entries = {**cpu_entries(settings.precision, options), **_passed_entries(options)}
    lines += [f'options.add_session_config_entry("{k}", "{v}")' for k, v in entries.items()]
    lines += [
        f"options.add_free_dimension_override_by_name({axis!r}, {size})"
        for axis, size in setup.model.axes.items()
    ]
    count = int(options[SESSIONS.name])
    session_call = f"ort.InferenceSession({setup.model.path!r}, options, ['CPUExecutionProvider'])"
    if count > 1:
        lines += [f"# {count} at once, each in a thread of its own", ""]
        lines.append(f"sessions = [{session_call} for _ in range({count})]")
    else:
        lines.append(f"session = {session_call}")
    parameters = {
        "intra_op_thread_count": str(settings.threads),
        "inter_op_thread_count": str(settings.threads if parallel else 1),
        "execution_mode": flag(parallel),
        "enable_mem_arena": flag(options["memory_arena"]),
        "enable_mem_pattern": flag(options["memory_pattern"]),
    }
    config = triton_config(setup, "onnxruntime", parameters, entries, count)
    if level in _TRITON_LEVELS:
        config += f"optimization {{ graph {{ level: {_TRITON_LEVELS[level]} }} }}\n"
    return Usage("\n".join(lines) + "\n", config)


def open_at_earlier_version(
    open_session: Callable[[Sequence[Request]], Session], requests: Sequence[Request]
) -> Session:
    """`open_session` of these requests, or of the same with a copy of the file, where only its IR
    version is too new; the session then has a diagnostic that says so."""
    try:
        return open_session(requests)
    except LaterIrVersion as fault:
        with TemporaryDirectory(prefix="graphlap-") as folder:
            copy = str(Path(folder, "model.onnx"))
            _write_copy(requests[0].model.path, copy, fault)
            session = open_session(
                [replace(request, model=replace(request.model, path=copy)) for request in requests]
            )
        warning = diagnostic("ir_version_lowered", of_file=fault.of_file, opened=fault.newest)
        execution = session.execution
        session.execution = replace(execution, warnings=(*execution.warnings, warning))
        return session


def _write_copy(model: str, copy: str, fault: LaterIrVersion) -> None:
    """The copy; the fault, with what stands in the way, if there can't be one."""
    command = install_layout.starter_command(
        "exporters.onnx_files.inquiries", "lower", model, copy, str(fault.newest)
    )
    process = install_layout.run_child(command)
    if feature_names := process.stdout.splitlines():
        raise Unsupported(
            f"{fault.cause}, and needs it for {', '.join(feature_names)}", fault.remedy
        )
    if process.returncode:
        raise fault
