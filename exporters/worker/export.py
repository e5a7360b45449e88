"""One export request to one exported model, from the cache where it has it.

The steps, and nothing of how each is done: build or read, choose the points, export, convert,
evaluate, describe.
"""

from __future__ import annotations

from pathlib import Path

from exporters.cache import Store, default_limit_bytes, default_root
from exporters.files.arithmetic import Arithmetic, arithmetic_of
from exporters.inputs import cast_specs
from exporters.points import Point, full_points
from exporters.precision.convert import Converted, converted
from exporters.references import References, references_of
from exporters.request import ExportRequest
from exporters.source import Graph, Source, Subject
from exporters.types import ExportedModel
from exporters.user_data import axes_of, calibration


def export(request: ExportRequest, holder: int = 0) -> tuple[ExportedModel, bool]:
    """What the request asks for, and whether the cache had all of it.

    The files stay in the cache until the process `holder` (this one for 0) ends. Raises
    GraphlapError for an unknown name; ExportError for what cannot become a checked graph, an
    axis left open or set to what the graph cannot take, and data or nodes that do not fit;
    NotBenchmarkable (status `unsupported`) for what is not to be timed.
    """
    root = Path(request.cache_dir) if request.cache_dir else default_root()
    store = Store(root, request.cache_limit_bytes or default_limit_bytes(), holder)
    own_inputs = Path(request.inputs).expanduser() if request.inputs else None
    source = _source(request)
    subject = source.subject
    points = _points(request, subject, own_inputs)
    axes = subject.default or points[0]
    graph = source.graph(store, axes)
    executed = _in_precision(request, store, subject, graph, axes)
    references = references_of(
        store,
        source,
        graph,
        points,
        request.precision,
        own_inputs,
        request.seed,
        request.checked,
    )
    arithmetic = arithmetic_of(store, executed.path)
    model = _described(request, subject, axes, graph, executed, references, arithmetic)
    store.settle()
    return model, graph.stored and executed.stored and references.stored


def _source(request: ExportRequest) -> Source:
    """What the request names, built or read."""
    if request.model.endswith(".onnx"):
        from exporters.files.source import file_source

        return file_source(request)
    from exporters.pyt.source import module_source

    return module_source(request)


def _points(request: ExportRequest, subject: Subject, own_inputs: Path | None) -> tuple[Point, ...]:
    """The sizes asked for; else those of the user's own inputs, else the defaults."""
    asked = request.points or ((axes_of(own_inputs, subject.inputs),) if own_inputs else ())
    return full_points(subject.called, asked, subject.axes, subject.default)


def _in_precision(
    request: ExportRequest, store: Store, subject: Subject, graph: Graph, axes: Point
) -> Converted:
    """The graph that is executed: the float32 one itself, or what it is converted to."""
    if request.precision == "fp32":
        return Converted(graph.path, graph.opset, (), stored=True)
    samples = calibration(request.calibration, subject.inputs, axes, subject.batch)
    return converted(store, subject.called, graph.path, request.precision, samples)


def _described(
    request: ExportRequest,
    subject: Subject,
    axes: Point,
    graph: Graph,
    executed: Converted,
    references: References,
    arithmetic: Arithmetic,
) -> ExportedModel:
    return ExportedModel(
        name=subject.name,
        suite=subject.suite,
        family=subject.family,
        path=str(executed.path),
        sha256=executed.path.stem,
        opset=executed.opset,
        precision=request.precision,
        inputs=cast_specs(subject.inputs, request.precision),
        outputs=cast_specs(references.resolved(graph.outputs), request.precision),
        axes=axes,
        references=references.files,
        reference=references.by,
        states=subject.states,
        batch=subject.batch,
        sequence=subject.sequence,
        factory=graph.factory,
        layers=subject.layers,
        width=subject.width,
        parameters=graph.parameters,
        parameters_with_buffers=graph.parameters_with_buffers,
        macs=graph.macs,
        precision_exceptions=executed.exceptions,
        uncompared=references.uncompared,
        narrowest=arithmetic.narrowest,
        depth=arithmetic.depth,
        custom_ops=request.custom_ops,
    )
