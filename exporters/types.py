"""Values that cross the stages, the root of the error tree, and one-line texts of other libraries'
errors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import numpy as np

from exporters.diagnostics import Diagnostic, diagnostic


class InvalidValue(ValueError):
    """A value that cannot be understood: what is wrong with it, and what to give instead.

    `key` is what the value is of, where the cause names it.
    """

    def __init__(self, cause: str, remedy: str = "", key: str = "") -> None:
        super().__init__(f"{cause}; {remedy}" if remedy else cause)
        self.cause = cause
        self.remedy = remedy
        self.key = key

    def of(self, key: str) -> InvalidValue:
        """The same, with what the value is of in front."""
        return InvalidValue(f"{key} {self.cause}", self.remedy, key)


_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_ENGINE_NOISE = re.compile(
    r"^\[ONNXRuntimeError\] : \d+ : \w+ : |Load model from .*? failed: ?"
    r"|Non-zero status code returned while running \S+ node\. Name:'[^']*' Status Message: "
    # A place in C++, the signature that follows it, and the condition that did not hold there.
    r"|(?:(?:failed )?at |in )?(?:[A-Za-z]:)?"
    r"[\w.+/\\-]*\w\.(?:cc|cpp|cxx|cu|cuh|h|hpp)(?::\d+|\(\d+\)):? ?"
    r"(?:[^()'\"]*::[^()'\"]*[^\s()]\((?:[^()]|\([^()]*\))*\)(?: const)?(?:::<lambda\([^)]*\)>)?"
    r"(?: \[with [^\]]*\])? ?)?"
    r"(?:(?:[^.'\"]|\.(?=\w))* was false\. ?(?=\S))?"
)


def nearest(word: str, choices: Iterable[str], fallback: str = "") -> str:
    """`did you mean 'x'?` for a near miss, else `fallback`."""
    matches = get_close_matches(word, list(choices), n=1)
    return f"did you mean {matches[0]!r}?" if matches else fallback


def first_line(error: BaseException) -> str:
    """The first line of an error's text without colours, codes and places in C++; its type's name
    where it has none.

    A line that ends with a colon says nothing without the next one, which is joined to it.
    """
    if isinstance(error, UnicodeError):  # what it says is of bytes and positions
        return "a name in it is no text"
    return _ENGINE_NOISE.sub("", _message_start(error)).strip() or type(error).__name__


_LOCALE = re.compile(r"locale with name:(?P<name>(?P<language>\w+)\.?(?P<charset>[\w-]*))")


def missing_locale(error: BaseException) -> tuple[str, str] | None:
    """Which locale ONNX Runtime lacks for a graph of texts, and what makes it; None if none."""
    if (found := _LOCALE.search(str(error))) is None:
        return None
    name, language, charset = found["name"], found["language"], found["charset"] or "UTF-8"
    return (
        f"the graph needs the locale {name}, which this machine lacks",
        f"mkdir -p ~/locales && localedef -i {language} -f {charset} ~/locales/{name} && export "
        "LOCPATH=~/locales (Debian and Ubuntu have localedef's sources in the package locales)",
    )


def named(error: BaseException) -> str:
    """`ValueError: the first line`, of an error that nobody foresaw."""
    message = _message_start(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def deepest(error: Exception) -> Exception:
    """The error that began it, where others are wrapped around it."""
    while isinstance(error.__cause__, Exception):
        error = error.__cause__
    return error


def is_of_system(error: BaseException | None) -> bool:
    """Whether the operating system refused something that led to this error: a file that is not
    there, a descriptor too many, no memory for a process."""
    return any(isinstance(cause, OSError) for cause in causes(error))


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and those that led to it."""
    told: list[BaseException] = []
    while error is not None and not any(error is other for other in told):
        told.append(error)
        yield error
        error = error.__cause__ or error.__context__


def _message_start(error: BaseException) -> str:
    lines = [line.strip() for line in _COLOURS.sub("", str(error)).splitlines() if line.strip()]
    told = lines[0] if lines else ""
    for line in lines[1:]:
        if not told.endswith(":"):
            break
        told = f"{told} {line}"
    return told


@dataclass(frozen=True, slots=True)
class Made:
    """Files by label, and a dataclass of facts; None where the files say all."""

    files: Mapping[str, Path]
    facts: object = None


Precision = Literal["fp32", "fp16", "bf16", "int8", "fp8"]
PRECISIONS: tuple[Precision, ...] = ("fp32", "fp16", "bf16", "int8", "fp8")

Dimension = int | str
"""A fixed size, or the name of the axis that sets it."""

ONNX_ENDING, ORT_ENDING = ".onnx", ".ort"
FILE_ENDINGS = (ONNX_ENDING, ORT_ENDING)
"""How the names of a user's graph files end: ONNX's format and ONNX Runtime's own."""

TEXT = "str"
"""The dtype of an input or output that holds texts."""


def is_engine_format(path: Path) -> bool:
    """Whether the file is in ONNX Runtime's own format, which nothing else reads."""
    return path.suffix.lower() == ORT_ENDING


class GraphlapError(Exception):
    """What every error of ours carries: a cause and a remedy, and the option that is at fault.

    The tree, each leaf with the row status that it ends a case with::

        GraphlapError
        |- PlanError           app.cases      (no row: exit 2, nothing written)
        |- ResultsError        app.cases      (no row: exit 1 or 2, see there)
        |- ExportError         exporters      export_failed
        |  |- NotBenchmarkable                unsupported
        |  `- MissingPackage                  unavailable
        `- RuntimeFault        runtimes
           |- Unsupported                     unsupported
           |- NotAvailable                    unavailable
           |- CompileFault                    compile_failed
           |- RunFault                        run_failed
           `- OutOfMemory                     out_of_memory
    """

    status: str = ""

    def __init__(self, cause: str, remedy: str = "", option: str = "") -> None:
        super().__init__(f"{cause}: {remedy}" if remedy else cause)
        self.cause = cause
        self.remedy = remedy
        self.option = option


class ExportError(GraphlapError):
    """A definition or a file that cannot become a checked graph."""

    status = "export_failed"


class MissingPackage(ExportError):
    """A part of an extra that is not installed; the remedy names the extra."""

    status = "unavailable"


class NoReference(ExportError):
    """No reference can run the graph at these sizes or on these inputs; an engine may."""


class NotBenchmarkable(ExportError):
    """A sound model that is not to be timed: no plain tensors, or not to be had as asked."""

    status = "unsupported"


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One graph input or output: name, numpy dtype name, shape with named axes.

    `low` and `high` bound generated data (`high` exclusive for integers); both None
    means a standard normal for floats and {0, 1} for integers and booleans. With `count_up`
    it is 0, 1, 2 and so on along the last axis, beginning anew at `high`, and increased by the
    sizes of `offset`, axes or numbers. With `fill` its elements have these values in turn along
    the last axis, each a sum of sizes and numbers. `assumed` says what the value is ("size",
    "limit" and so on) that decides how much is computed and that nobody gave. `allowed` are the
    least and the largest value that the tables which the tensor indexes have, and generated
    integers are below the sizes `within` (a `fill` is not above them). `words` are the texts that
    generated texts are drawn from. `owner` is the sequence, map or optional value that the array is
    a part of, empty for a tensor. `element` is the type in the graph where numpy lacks it
    (`plain_arrays`); `dtype` then holds its values.
    """

    name: str
    dtype: str
    shape: tuple[Dimension, ...]
    low: float | None = None
    high: float | None = None
    count_up: bool = False
    fill: tuple[tuple[Dimension | float, ...], ...] = ()
    assumed: str = ""
    within: tuple[Dimension, ...] = ()
    allowed: tuple[int, int] | None = None
    offset: tuple[Dimension, ...] = ()
    words: tuple[str, ...] = ()
    owner: str = ""
    element: str = ""

    def shape_at(self, axes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape with every named axis replaced; KeyError names one left open."""
        return tuple(axes[size] if isinstance(size, str) else size for size in self.shape)


@dataclass(frozen=True, slots=True)
class StatePair:
    """A state output and the input that it becomes in the next step of a stream."""

    input: str
    output: str


@dataclass(frozen=True, slots=True)
class Factory:
    """How to build a torch module: `module:callable` or `/path/file.py:callable`.

    `arguments` are JSON values passed by keyword; weights are drawn from `seed`
    unless `weights` names a safetensors file.
    """

    target: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    weights: str | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """A named torch module with its inputs, its axes and its state.

    `axes` maps each axis name used in the input shapes to its default size. Inputs
    and outputs are in the order of the module's forward arguments and results.
    `layers` and `width` are what the source table calls so, None where it does not.
    `labelled` names a `module:callable` that gives images and labels to measure top-1
    accuracy on, empty where none belong to the definition. With `in_fp64` the expected outputs are
    computed in double precision, so that a row's error is the whole of its rounding.
    """

    name: str
    suite: str
    family: str
    source: str
    factory: Factory
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[str, ...]
    axes: Mapping[str, int]
    states: tuple[StatePair, ...] = ()
    layers: int | None = None
    width: int | None = None
    aliases: tuple[str, ...] = ()
    labelled: str = ""
    in_fp64: bool = False


def axes_key(axes: Mapping[str, int]) -> str:
    """A stable text for one point of the axes: `batch=1,sequence=16`; `-` for none."""
    return ",".join(f"{name}={axes[name]}" for name in sorted(axes)) or "-"


@dataclass(frozen=True, slots=True)
class FixedGraph:
    """A graph that was exported for one point of the axes alone; as in `ExportedModel`."""

    path: str
    outputs: tuple[TensorSpec, ...]
    precision_exceptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExportedModel:
    """A checked .onnx file and all that later stages need to know of it.

    `references` maps `axes_key(axes)` to the .npz file of a `Reference`; `reference` is the first
    that was computed (`packaged` for data that came with the file, `torch`, `onnx` for ONNX's
    reference evaluator, `onnxruntime unoptimised`), empty for nobody. `uncompared` is why outputs
    are not to be compared with it, None where they are; `random_outputs` alone are not compared
    where the others are. `narrowest` is the narrowest type (`fp32`, `fp16`, `bf16`, `int8`, `fp8`)
    among the graph's weights and products, `depth` how many products follow each other on its
    longest path; `is_integer` that it has no floating-point values at all, so that each output has
    one value; `bounded_outputs` lie between -1 and 1 by what computes them. `custom_ops` are
    libraries of operators for ONNX Runtime that the graph needs. `parameters` are counted as torch
    does, `parameters_with_buffers` adds every norm's running mean and variance; `macs` are at the
    default axes. `batch` and `sequence` are the axes (or the fixed sizes) that play those parts.
    None: not known, or there is none. `precision_exceptions` names the nodes that would run in a
    wider type than `precision`: for int8 the matrix nodes that ONNX Runtime's optimised graph keeps
    in float. `sources` are the files that a user's model lies in, by their place in its folder,
    with their sha256. `inputs_drawn` tells what each input holds. `warnings` are what a reader of
    the rows should know of the export. `fixed` has a graph of its own for each point, by
    `axes_key`, where the module could not be exported with open axes; `path` is then the first of
    them. `rotation` are further inputs for each point, files like the references without outputs.
    `input_files` are the names of the user's own sets of inputs, in the order of their turns.
    `beside` are the files that hold weights of the graph, which finds them in its own folder.
    `written_inputs` are those that the torch module behind the graph writes to when it runs.
    `unfit` says by `axes_key` why no reference takes some points, cause and remedy; the file of
    such a point, if there is one, holds inputs alone.
    """

    name: str
    suite: str
    family: str
    path: str
    sha256: str
    opset: int
    precision: Precision
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    axes: Mapping[str, int]
    references: Mapping[str, str]
    reference: str
    states: tuple[StatePair, ...] = ()
    batch: Dimension | None = None
    sequence: Dimension | None = None
    factory: Factory | None = None
    layers: int | None = None
    width: int | None = None
    parameters: int | None = None
    parameters_with_buffers: int | None = None
    macs: int | None = None
    precision_exceptions: tuple[str, ...] = ()
    uncompared: Diagnostic | None = None
    narrowest: str = "fp32"
    depth: int = 0
    is_integer: bool = False
    bounded_outputs: tuple[str, ...] = ()
    custom_ops: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    inputs_drawn: str = ""
    warnings: tuple[Diagnostic, ...] = ()
    fixed: Mapping[str, FixedGraph] = field(default_factory=dict)
    rotation: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    input_files: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    written_inputs: tuple[str, ...] = ()
    unfit: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    random_outputs: tuple[str, ...] = ()
    past: Dimension | None = None

    @property
    def refusal(self) -> tuple[str, ...]:
        """Why no reference takes the sizes that the model is at, cause and remedy; () where one
        does."""
        return self.unfit.get(axes_key(self.axes), ())

    @property
    def unfit_at(self) -> str:
        """The same as a sentence."""
        return ": ".join(self.refusal)

    @property
    def size_bytes(self) -> int:
        """Of its file, or of its parameters where they lie beside it."""
        return max(Path(self.path).stat().st_size, 4 * (self.parameters or 0))

    def at(self, point: Mapping[str, int]) -> ExportedModel:
        """The model at one point: `axes` are the sizes asked for, the rest at their defaults.

        Its graph is the one for that point where each has its own, and the inputs are of its sizes.
        """
        axes = {**self.axes, **point}
        key = axes_key(axes)
        graph, obstacle = self.fixed.get(key), self.uncompared
        if key in self.unfit and key in self.references:
            obstacle = diagnostic("no_reference", error=": ".join(self.unfit[key]))
        if graph is None:
            return replace(self, axes=axes, uncompared=obstacle)
        return replace(
            self,
            axes=axes,
            uncompared=obstacle,
            inputs=tuple(replace(spec, shape=spec.shape_at(axes)) for spec in self.inputs),
            path=graph.path,
            sha256=Path(graph.path).stem,
            outputs=graph.outputs,
            precision_exceptions=graph.precision_exceptions,
            fixed={},
        )

    @property
    def open_axes(self) -> frozenset[str]:
        """The axes whose sizes the graph itself leaves open."""
        return frozenset(self.axes) & {size for spec in self.inputs for size in spec.shape}


PACKAGED = "packaged"
EVALUATED = "onnx"
UNOPTIMISED = "onnxruntime unoptimised"
SECOND_ENGINE = "openvino in fp32"
"""References of a graph: data beside it, ONNX's evaluator, ONNX Runtime as the graph is written."""

_REPEAT = "repeat:"
INPUT = "input:"
"""What the names of inputs begin with in a stored reference."""
_LONGEST_NAME = 65_000
"""A member's name in a zip file has at most 65,535 bytes, with ours before and behind it."""
_CANDIDATES = "candidates:"
_UNSETTLED = "unsettled:"
_OTHER = "other:"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two references of a model that differ by more than its graph's types allow.

    `relative` is max|a-b| / max|b| of `output`, the worst one, None where the two are not
    comparable: another shape, or NaN or infinite on one side. `unequal` is the share of elements
    that differ, of an output that must be equal. `node` is the first node, in the graph's order,
    whose outputs differ so between ONNX's evaluator and ONNX Runtime, and `operator` its type;
    both are empty for other references. `no_node` says why none was found between these two.
    """

    first: str
    second: str
    output: str
    relative: float | None = None
    unequal: float | None = None
    node: str = ""
    operator: str = ""
    no_node: str = ""


Silence = Literal["empty", "undefined", "same", "unsettled"]
"""Why an output confirms nothing: no element is a number, ONNX does not define it, it is the same
for other inputs, or all of it depends on decisions within the tolerance."""
NEVER = 255
"""Of an element that changes at no tolerance."""


@dataclass(frozen=True, slots=True)
class Leeway:
    """Where outputs may be others than the reference's.

    `candidates` are the values that an output of indices chose from, [places, values] in the order
    of its elements, or of its rows along the axis in `axes` where each has several. `unsettled` has
    for an output that follows from decisions between floats the number of the first tolerance, of
    `agreement.RUNGS`, at which each element may change, else `NEVER`; a single number where its
    shape may. `silent` says of an output that confirms nothing why.
    """

    candidates: Mapping[str, np.ndarray] = field(default_factory=dict)
    axes: Mapping[str, int] = field(default_factory=dict)
    unsettled: Mapping[str, np.ndarray] = field(default_factory=dict)
    silent: Mapping[str, Silence] = field(default_factory=dict)


NO_LEEWAY = Leeway()


@dataclass(frozen=True, slots=True)
class Reference:
    """Inputs and expected outputs of one model at one point of its axes.

    `outputs` are those of the references `by`, which are as good as equal; empty `by` is
    nobody in particular. `others` are the outputs of references that differ, by their name.
    `missing` says of each reference that could not be had why. `rounding` is how far those of `by`
    are apart, relative to the largest value.
    """

    inputs: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    by: tuple[str, ...] = ()
    others: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    disagreements: tuple[Disagreement, ...] = ()
    leeway: Leeway = NO_LEEWAY
    rounding: float = 0.0


def load_reference(path: str) -> Reference:
    """Read what `save_reference` wrote; OSError or ValueError if the file is damaged."""
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for repeat in [name for name in arrays if name.startswith(_REPEAT)]:
        name, (axis, size) = repeat.removeprefix(_REPEAT), arrays.pop(repeat)
        arrays[name] = arrays[name].take(np.arange(size) % arrays[name].shape[axis], axis)

    def part(prefix: str) -> dict[str, np.ndarray]:
        return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}

    try:
        facts = json.loads(str(arrays["about"]))
    except KeyError:
        raise ValueError("it does not name who computed the outputs") from None
    return Reference(
        part(INPUT),
        part("output:"),
        tuple(facts["by"]),
        {name: part(f"{_OTHER}{name}:") for name in facts["others"]},
        facts["missing"],
        tuple(Disagreement(**values) for values in facts["disagreements"]),
        Leeway(
            part(_CANDIDATES),
            facts["candidate_axes"],
            part(_UNSETTLED),
            facts["silent"],
        ),
        facts["rounding"],
    )


def repeat_reference(source: str, target: str, axes: Mapping[str, int], size: int) -> None:
    """Write to `target` the reference of `source` with its entries repeated up to `size`.

    `axes` maps each array (`input:NAME`, `output:NAME`) to the position of the axis that
    grows. It is repeated when it is read, so that the file stays as small as `source`.
    """
    with np.load(source, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    # Every reference's array of an output grows as that output does, if it is of such a shape.
    axes_by_array = {
        name: axes[like]
        for name, array in arrays.items()
        if (like := _output_of(name)) in axes and any(array.shape[axes[like] :][:1])
    }
    marks = {f"{_REPEAT}{name}": np.array([axis, size]) for name, axis in axes_by_array.items()}
    with Path(target).open("wb") as file:
        np.savez(file, **arrays, **marks)  # type: ignore[arg-type]


def _output_of(name: str) -> str:
    """`output:NAME` for another array of that output, else the name itself."""
    if name.startswith(_UNSETTLED):
        return f"output:{name.removeprefix(_UNSETTLED)}"
    if name.startswith(_OTHER):
        return f"output:{name.removeprefix(_OTHER).partition(':')[2]}"
    return name


def save_reference(path: str, reference: Reference) -> None:
    """Write inputs, outputs and what is known of them to one uncompressed .npz file; ExportError
    for too long a name."""
    for name in (*reference.inputs, *reference.outputs):
        if len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME:
            raise ExportError(
                f"the tensor {name[:40]!r}… has a name of {len(name):,} characters, and at most "
                f"{_LONGEST_NAME:,} bytes can be kept",
                "give it a shorter name",
            )
    arrays = {f"{INPUT}{name}": array for name, array in reference.inputs.items()}
    arrays |= {f"output:{name}": array for name, array in reference.outputs.items()}
    leeway = reference.leeway
    arrays |= {f"{_CANDIDATES}{name}": array for name, array in leeway.candidates.items()}
    arrays |= {f"{_UNSETTLED}{name}": array for name, array in leeway.unsettled.items()}
    for reference_name, outputs in reference.others.items():
        arrays |= {f"{_OTHER}{reference_name}:{name}": array for name, array in outputs.items()}
    facts = {
        "by": reference.by,
        "others": list(reference.others),
        "missing": dict(reference.missing),
        "disagreements": [asdict(disagreement) for disagreement in reference.disagreements],
        "candidate_axes": dict(leeway.axes),
        "silent": dict(leeway.silent),
        "rounding": reference.rounding,
    }
    arrays["about"] = np.array(json.dumps(facts))
    with Path(path).open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
