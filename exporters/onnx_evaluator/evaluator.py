"""ONNX's reference evaluator up to the first node at which it is not believed.

Needs onnx and numpy alone, so that checks of a graph and the folding of its constants agree.
It takes the defaults of attributes from the version of an operator that the graph is in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from onnx import ModelProto, NodeProto
from onnx.defs import OpSchema, SchemaError, get_schema, has
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun, RefAttrName, RuntimeContextError

from exporters.onnx_evaluator.corrections import CORRECTIONS, HALF_IN_SINGLE, with_float32
from exporters.onnx_evaluator.table import RANDOM, Use, row_against


class Distrust(NotImplementedError):
    """Names the node whose result is not believed, or that the evaluator lacks.

    It stands in place of each value of the graph that depends on this node. `is_undefined`: no
    engine's is, as ONNX leaves it open.
    """

    def __init__(self, reason: str, is_undefined: bool = False) -> None:
        super().__init__(reason)
        self.is_undefined = is_undefined


class Evaluator(ReferenceEvaluator):
    """As its base, for graphs, inner graphs and functions alike; Distrust where it is not
    believed."""

    def run(self, output_names: Any, feed_inputs: Any, *rest: Any, **settings: Any) -> Any:
        values: Any = super().run(output_names, feed_inputs, *rest, **settings)
        if isinstance(values, dict):  # of intermediate values too
            return {n: v for n, v in values.items() if not isinstance(v, Distrust)}
        for value in values:
            if isinstance(value, Distrust):
                raise value
        return values

    def values_by_name(self, names: Sequence[str], feeds: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name; Distrust stands for one that depends on what is not believed."""
        return dict(zip(names, super().run(list(names), dict(feeds)), strict=True))

    def _init(self) -> None:
        super()._init()
        is_inner = not isinstance(self.proto_, ModelProto)
        for node in self.rt_nodes_:
            node.run = partial(_run, node, node.run, self.opsets, is_inner)

    def _load_impl(self, node: NodeProto, input_types: Any = None) -> Any:
        try:
            return self._implementation(node, input_types)
        except RuntimeContextError:
            raise
        except (RuntimeError, NotImplementedError, SchemaError) as error:
            return type("Absent", (_Absent,), {"reason": str(error).partition("\n")[0]})

    def _implementation(self, node: NodeProto, input_types: Any) -> Any:
        version = self.opsets.get(node.domain, 0)
        operator, first_right_version = CORRECTIONS.get(node.op_type, (None, 0))
        is_wrong = version < first_right_version
        if operator is not None and is_wrong and node.domain == operator.op_domain:
            known = has(node.op_type, node.domain)
            schema = get_schema(node.op_type, version, node.domain) if known else None
            return _with_schema(operator, schema)
        implementation = super()._load_impl(node, input_types)
        if node.domain:
            return implementation
        if node.op_type in RANDOM or node.op_type == "Dropout":
            return lambda drawing, settings: implementation(_without_seed(drawing), settings)
        # One that bears a version in its name has the defaults of that version.
        if getattr(implementation, "__name__", "") == node.op_type:
            return _with_schema(implementation, _with_newer(node.op_type, version))
        return implementation


class _Absent(OpRun):
    reason = ""

    def _run(self, *inputs: Any, **settings: Any) -> tuple[Any, ...]:
        raise Distrust(self.reason)


def _run(
    node: OpRun,
    compute: Any,
    opsets: Mapping[str, int],
    is_inner: bool,
    *inputs: Any,
    **settings: Any,
) -> tuple[Any, ...]:
    """The node's outputs; in the graph itself what stands for them where it is not believed."""
    proto, gap, first = node.onnx_node, None, len(node.onnx_node.output)
    try:
        for value in inputs:
            if isinstance(value, Distrust):
                raise value
        attributes = _attributes(node, settings.get("linked_attributes") or {})
        use = Use(opsets.get(proto.domain, 1), attributes, inputs, len(proto.output))
        if row := row_against(proto.domain, proto.op_type, use):
            name = proto.name or next(filter(None, proto.output), "")
            reason = f"it is not believed for {proto.op_type} {name!r}: {row.reason}"
            gap = Distrust(reason, row.is_undefined)
            first = row.first
            if not first:
                raise gap
        if not proto.domain and proto.op_type in HALF_IN_SINGLE:
            results = with_float32(compute, inputs, settings)
        else:
            results = compute(*inputs, **settings)
    except NotImplementedError as error:
        if is_inner:
            raise
        results, gap = (), error if isinstance(error, Distrust) else Distrust(str(error))
        first = 0
    return (*results[:first], *(gap,) * (len(proto.output) - first))


def _attributes(node: OpRun, function_attributes: Mapping[str, Any]) -> dict[str, Any]:
    names = getattr(node, "attributes_names_", ())
    values = {name: getattr(node, name, None) for name in names}
    return {
        n: function_attributes.get(v.name) if isinstance(v, RefAttrName) else v
        for n, v in values.items()
    }


@dataclass(frozen=True, slots=True)
class _Defaults:
    """The part of a schema that an operator takes its defaults from."""

    attributes: Mapping[str, OpSchema.Attribute]


@cache
def _with_newer(op: str, version: int) -> _Defaults:
    """The defaults of this version, and of attributes that came later and stand for what was."""
    newest, own_schema = get_schema(op, ""), get_schema(op, version, "")
    return _Defaults({**newest.attributes, **own_schema.attributes})


def _with_schema(implementation: type[OpRun], schema: OpSchema | _Defaults | None) -> type[OpRun]:
    """The implementation with these defaults, where onnx's evaluator gives the newest ones."""
    return type(implementation.__name__, (implementation,), {"op_schema": schema})


def _without_seed(node: NodeProto) -> NodeProto:
    other = NodeProto()
    other.CopyFrom(node)
    other.ClearField("attribute")
    other.attribute.extend(a for a in node.attribute if a.name != "seed")
    return other
