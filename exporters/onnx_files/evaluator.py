"""References of a graph: ONNX's own evaluator and ONNX Runtime without rewriting, and the first
node at which they differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import onnx
from onnx import ModelProto, NodeProto
from onnx.defs import has

from exporters.agreement import (
    NO_OUTPUTS,
    SMALLEST,
    Arrays,
    Bound,
    Computed,
    Node,
    Outputs,
    difference,
    scale_of,
    two_agree,
)
from exporters.engine_values import has_narrow, input_values, output_arrays
from exporters.file_access import file_sha256
from exporters.onnx_evaluator.table import RANDOM, UNDEFINED
from exporters.onnx_files.engine import (
    WEIGHTS_FOLDER,
    by_openvino,
    give,
    is_installed,
    opened,
    plain,
)
from exporters.onnx_files.graph import all_nodes, failing_node, feeding, node_name, reads
from exporters.onnx_files.trial import proposals
from exporters.onnx_files.unsettled import candidates, unsettled
from exporters.plain_arrays import NARROW_TYPES, arrays_of, values_of
from exporters.source import Point
from exporters.types import (
    EVALUATED,
    NO_LEEWAY,
    SECOND_ENGINE,
    UNOPTIMISED,
    ExportError,
    Leeway,
    NoReference,
    NotBenchmarkable,
    Silence,
    TensorSpec,
    axes_key,
    deepest,
    is_engine_format,
    missing_locale,
)
from exporters.validation import EVALUATOR_LIMIT_S, TooSlow, within

if TYPE_CHECKING:
    from exporters.onnx_evaluator.evaluator import Evaluator


_NODE = re.compile(r"Name:'(?P<name>[^']+)'")
_AT_ONCE = 32
"""Nodes whose values are fetched by one run, so that they need not all be held together."""


def first_difference(
    path: Path,
    evaluator_values: Mapping[str, Any],
    inputs: Arrays,
    bound: Bound,
    custom_ops: Sequence[str],
) -> Node | None:
    """The first node of which a value that is used differs from `evaluator_values` beyond the
    bound.

    `evaluator_values` are the evaluator's values by name. None if no such value differs; raises
    what ONNX Runtime raises. A difference in an inner graph is one of the node that holds it.
    """
    model = onnx.load(path, load_external_data=False)
    used_names = {name for node in model.graph.node for name in reads(node)}
    used_names |= {value.name for value in model.graph.output}
    give(model.graph, (n for node in model.graph.node for n in _used_outputs(node, used_names)))
    entries = {WEIGHTS_FOLDER: str(path.parent)}
    session = opened(model.SerializeToString(), custom_ops, entries)
    scale = scale_of(inputs)
    nodes = iter(model.graph.node)
    while some := list(islice(nodes, _AT_ONCE)):
        names = [name for node in some for name in _used_outputs(node, used_names)]
        values = dict(zip(names, session.run(names, dict(inputs)), strict=True)) if names else {}
        for node in some:
            for name in _used_outputs(node, used_names):
                if _differs(values[name], evaluator_values.get(name), bound, scale):
                    return node_name(node), node.op_type
    return None


def _used_outputs(node: NodeProto, used: set[str]) -> Iterator[str]:
    return (name for name in node.output if name in used)


def _differs(actual: Any, expected: Any, bound: Bound, scale: float) -> bool:
    """Of two tensors; sequences, maps and absent values are passed over."""
    if not isinstance(actual, np.ndarray | np.generic) or not isinstance(
        expected, np.ndarray | np.generic
    ):
        return False
    actual, expected = np.asarray(actual), np.asarray(expected)
    if expected.dtype.kind not in "biufc" or actual.dtype.kind not in "biufc":
        return False
    return not bound.holds(difference(actual, expected, scale), expected)


_ONNX_DOMAINS = ("", "ai.onnx", "ai.onnx.ml")


class FileEvaluator:
    """One file for both evaluators, each of which reads it when it is first run."""

    name: ClassVar[str] = EVALUATED
    packages: ClassVar[tuple[str, ...]] = ("onnx", "onnxruntime", "openvino")

    def __init__(
        self,
        model_label: str,
        path: Path,
        outputs: Sequence[TensorSpec],
        inputs: Sequence[TensorSpec] = (),
        *,
        is_repeatable: bool = True,
        custom_ops: Sequence[str] = (),
    ) -> None:
        self._model_label = model_label
        self._path = path
        self._outputs = [spec.name for spec in outputs]
        self._output_specs = tuple(outputs)
        self._custom_ops = tuple(custom_ops)
        self._inputs = tuple(inputs)
        self._was_open = False
        self._too_slow = ""
        self._last_outputs: Arrays = {}
        self._undefined: dict[str, Silence] = {}
        self.left_out = ""
        self.is_repeatable = is_repeatable

    def computed(
        self, inputs: Arrays, point: Point, bound: Bound, known_outputs: Outputs = NO_OUTPUTS
    ) -> Computed:
        """What ONNX Runtime gives; unless that agrees with what is `known_outputs`, or where ONNX
        may leave outputs open, ONNX's evaluator; and unless two of all these agree, OpenVINO.

        The evaluator has as long as it takes only where there is no other reference.
        NoReference, with the node's name, where neither takes the graph or these inputs.
        """
        runtime_outputs: Arrays | None = None
        onnx_outputs: Arrays | None = None
        faults: dict[str, Exception] = {}
        try:
            runtime_outputs = self._last_outputs = self.by_runtime(inputs)
        except Exception as error:
            faults[UNOPTIMISED] = error
        outputs = dict(known_outputs)
        if runtime_outputs is not None:
            outputs[UNOPTIMISED] = runtime_outputs
        if self._may_be_undefined or not two_agree(outputs, bound, scale_of(inputs)):
            try:
                onnx_outputs = self.within_limit(inputs) if outputs else self.by_onnx(inputs)
            except Exception as error:
                faults[EVALUATED] = error
        if not outputs and onnx_outputs is None:
            raise self._fault(faults[EVALUATED], faults[UNOPTIMISED], point) from faults[EVALUATED]
        outputs_by_name: dict[str, Arrays | None] = {
            **known_outputs,
            EVALUATED: onnx_outputs,
            UNOPTIMISED: runtime_outputs,
        }
        if onnx_outputs is not None and not self.left_out:
            outputs = {**outputs, EVALUATED: onnx_outputs}
        if not two_agree(outputs, bound, scale_of(inputs)) and is_installed():
            try:
                outputs_by_name[SECOND_ENGINE] = by_openvino(self._path, inputs, self._output_specs)
            except Exception as error:
                faults[SECOND_ENGINE] = error
        missing = {name: plain(deepest(error)) for name, error in faults.items()}
        if onnx_outputs is not None and self.left_out:
            outputs_by_name[EVALUATED] = outputs_by_name.pop(EVALUATED)
            missing[EVALUATED] = self.left_out
        return Computed(
            {name: arrays for name, arrays in outputs_by_name.items() if arrays is not None},
            missing,
        )

    def by_runtime(self, inputs: Arrays) -> dict[str, np.ndarray]:
        """The outputs by ONNX Runtime; raises what it raises, ExportError for a library.

        The file is opened for each run, so that its weights are not in memory beside those that
        ONNX's evaluator then reads.
        """
        session = opened(self._path, self._custom_ops)
        self._was_open = True
        if has_narrow((*self._inputs, *self._output_specs)):
            feeds = input_values(self._inputs, inputs)
            return output_arrays(self._outputs, session.run_with_ort_values(self._outputs, feeds))
        arrays: dict[str, np.ndarray] = {}
        values = session.run(self._outputs, values_of(self._inputs, inputs))
        for name, value in zip(self._outputs, values, strict=True):
            arrays |= arrays_of(name, value)
        return arrays

    def by_onnx(self, inputs: Arrays) -> dict[str, np.ndarray]:
        """The outputs for which ONNX's evaluator is believed; `left_out` is why others lack.

        Raises what it raises, and where it is believed for no output, that.
        """
        with np.errstate(all="ignore"):
            values = self._evaluator.values_by_name(self._outputs, self._feeds(inputs))
        gaps = {n: value for n, value in values.items() if isinstance(value, NotImplementedError)}
        undefined = [n for n, gap in gaps.items() if getattr(gap, "is_undefined", False)]
        self._undefined = dict.fromkeys(undefined, "undefined")
        if gaps and len(gaps) == len(values):
            raise next(iter(gaps.values()))
        self.left_out = f"{', '.join(gaps)}: {next(iter(gaps.values()))}" if gaps else ""
        arrays: dict[str, np.ndarray] = {}
        for name in (name for name in values if name not in gaps):
            arrays |= arrays_of(name, values[name])
        return arrays

    def within_limit(self, inputs: Arrays) -> dict[str, np.ndarray]:
        """The same in `EVALUATOR_LIMIT_S`; once it was too slow, TooSlow at once."""
        if self._too_slow:
            raise TooSlow(self._too_slow)
        try:
            return within(EVALUATOR_LIMIT_S, lambda: self.by_onnx(inputs))
        except TooSlow as error:
            self._too_slow = str(error)
            raise

    def leeway(self, inputs: Arrays, others: Arrays | None) -> Leeway:
        """Where outputs may differ, by ONNX Runtime; of what it fails to compute nothing may.

        `inputs` are those that were computed last, `others` come from another seed.
        """
        if is_engine_format(self._path):
            return NO_LEEWAY
        model = onnx.load(self._path, load_external_data=False)
        silent = {**self._same(others), **self._undefined}
        try:
            chosen = candidates(model, inputs, self._values)
            return Leeway(*chosen, unsettled(model, inputs, self._values), silent)
        except Exception:  # of the engine: the outputs have to be equal then
            return Leeway(silent=silent)

    def _same(self, others: Arrays | None) -> dict[str, Silence]:
        """The outputs that are the same for other inputs; a few indices may well be."""
        if others is None or not self._last_outputs:
            return {}
        try:
            second = self.by_runtime(others)
        except Exception:  # not each draw is one that it takes
            return {}
        return {
            name: "same"
            for name, array in self._last_outputs.items()
            if (array.dtype.kind in "fc" or array.size >= SMALLEST)
            and array.size
            and name in second
            and not difference(second[name], array).unequal
        }

    def _values(
        self, model: ModelProto, names: Sequence[str], inputs: Arrays
    ) -> dict[str, np.ndarray]:
        """Values of this model, which lies where the file does, by ONNX Runtime."""
        if not names:
            return {}
        whole = ModelProto()
        whole.CopyFrom(model)
        give(whole.graph, names)
        entries = {WEIGHTS_FOLDER: str(self._path.parent)}
        session = opened(whole.SerializeToString(), self._custom_ops, entries)
        taken = {value.name for value in session.get_inputs()}
        feeds = {name: array for name, array in inputs.items() if name in taken}
        return dict(zip(names, session.run(list(names), feeds), strict=True))

    def first_difference(self, inputs: Arrays, bound: Bound) -> Node | None:
        """The first node whose outputs the two compute differently; raises what either raises."""
        values = within(EVALUATOR_LIMIT_S, lambda: self._all_values(inputs))
        return first_difference(self._path, values, inputs, bound, self._custom_ops)

    def _all_values(self, inputs: Arrays) -> Mapping[str, Any]:
        with np.errstate(all="ignore"):
            feeds = self._feeds(inputs)
            values: Any = self._evaluator.run(None, feeds, intermediate=True)
        intermediate_values: Mapping[str, Any] = values
        return intermediate_values

    def _feeds(self, inputs: Arrays) -> dict[str, Any]:
        """The inputs as ONNX's evaluator takes them."""
        narrow = {
            spec.name: onnx.helper.tensor_dtype_to_np_dtype(NARROW_TYPES[spec.element].number)
            for spec in self._inputs
            if spec.element
        }
        return values_of(self._inputs, inputs) | {
            name: inputs[name].astype(dtype) for name, dtype in narrow.items()
        }

    @property
    def modules(self) -> tuple[str, ...]:
        """This one."""
        return (__name__,)

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(file_sha256(Path(library)) for library in self._custom_ops)

    @cached_property
    def _may_be_undefined(self) -> bool:
        if is_engine_format(self._path):
            return False
        model = onnx.load(self._path, format="protobuf", load_external_data=False)
        return any(node.op_type in UNDEFINED for node in all_nodes(model))

    @cached_property
    def _evaluator(self) -> Evaluator:
        if is_engine_format(self._path):
            raise NotImplementedError("it does not read ONNX Runtime's own format")
        # Its import takes as long as numpy's, and most exports are taken from the cache.
        from exporters.onnx_evaluator.evaluator import Evaluator

        return Evaluator(str(self._path))

    def _fault(
        self, evaluator_error: Exception, runtime: Exception, point: Point
    ) -> ExportError | MemoryError:
        """What is to blame where both have failed."""
        if isinstance(runtime, ExportError):
            return runtime
        if isinstance(evaluator_error, MemoryError):
            return evaluator_error
        is_unsupported = "_evaluator" not in self.__dict__ or isinstance(
            evaluator_error, NotImplementedError
        )
        if is_unsupported and not self._was_open:
            if lacking := missing_locale(runtime):
                return NotBenchmarkable(*lacking)
            foreign = _has_foreign_operators(self._path)
            if not foreign and type(runtime).__name__ != "NotImplemented":
                return NoReference(
                    f"{self._model_label} cannot be loaded ({plain(runtime)})",
                    "check the file, or export it again",
                )
            library = "give --custom-ops the library of its operators, " if foreign else ""
            return NoReference(
                f"neither ONNX's evaluator ({plain(evaluator_error)}) nor ONNX Runtime "
                f"({plain(runtime)}) can compute what {self._model_label} should give",
                f"{library}put expected outputs next to it "
                "(test_data_set_0/output_0.pb), or measure it --no-verify-outputs",
            )
        node = _NODE.search(str(runtime))
        label = (node["name"] if node else "") or failing_node(evaluator_error)
        was_run = self._was_open or is_unsupported
        reason = plain(runtime if was_run else deepest(evaluator_error))
        return self._no_reference(label, reason, point)

    def _no_reference(self, node: str, reason: str, point: Point) -> NoReference:
        """What may be at fault in a node that fails: values of inputs, sizes, or the file alone."""
        reached, constants = feeding(self._path, node)
        inputs = [spec for spec in self._inputs if spec.name in reached]
        values = [s.name for s in inputs if s.dtype[:3] in ("int", "uin", "boo") or not s.shape]
        axes = [axis for axis in point if any(axis in spec.shape for spec in inputs)]
        place = f" in node {node!r}" if node else ""
        at_point = f"at {axes_key(point)}" if point else "on its inputs"
        cause = f"{self._model_label} cannot run {at_point}: it fails{place} ({reason})"
        if values:
            ranges = f"--input-range {values[0]}=LOW:HIGH"
            return NoReference(
                cause,
                f"give other values of {', '.join(values)} with {ranges}, or --inputs FILE.npz",
            )
        of_file = f" of the file ({', '.join(constants)})" if constants else ""
        if axes:
            known = {**dict.fromkeys(axes, "N"), **_example(reason, point, axes)}
            options = ", ".join(f"--axis {axis}={known[axis]}" for axis in axes)
            takes = f"fit the constants{of_file}" if of_file else "the graph takes"
            return NoReference(cause, f"set its axes ({options}) to sizes that {takes}")
        if of_file or inputs:
            return NoReference(
                cause,
                f"constants{of_file or ' of the file'} are at fault{place}, which no option "
                "changes: export the file again",
            )
        return NoReference(
            cause, "give --axis or --inputs that the graph takes, or export the file again"
        )


def _example(reason: str, point: Point, axes: Sequence[str]) -> Point:
    """The size of an axis that would suit the node that complains, as far as it says one."""
    sizes = next(iter(proposals(reason, dict(point), axes)), {})
    return {axis: size for axis, size in sizes.items() if size != point[axis]}


def _has_foreign_operators(path: Path) -> bool:
    """Whether a node is neither one of ONNX's operators nor a function of the file."""
    try:
        model = onnx.load(path, format="protobuf", load_external_data=False)
    except Exception:
        return False
    functions = {(function.domain, function.name) for function in model.functions}
    return any(
        (node.domain, node.op_type) not in functions
        and not has(node.op_type, "" if node.domain == "ai.onnx" else node.domain)
        for node in all_nodes(model)
    )


def is_repeatable(model: ModelProto) -> bool:
    """Whether all that the graph computes is known to give the same each time."""
    known_domains = {*_ONNX_DOMAINS, *(function.domain for function in model.functions)}
    return not any(
        node.domain not in known_domains
        or node.op_type in RANDOM
        or (node.op_type == "Dropout" and len(node.input) > 2)
        for node in all_nodes(model)
    )
