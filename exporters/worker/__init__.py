"""One export request to one exported model, from the cache where it has it.

The steps, and nothing of how each is done: build or read, choose the points, export, convert,
evaluate, describe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from exporters.agreement import Bound, tolerance_of
from exporters.cache import Store, default_limit_bytes, default_root, done
from exporters.codec import from_json
from exporters.diagnostics import diagnostic
from exporters.inputs import (
    cast_specs,
    guesses,
    inputs_told,
    limits,
    lower_thresholds,
    refuse_unfit_states,
)
from exporters.messages import ExportRequest
from exporters.onnx_files.counts import Arithmetic, told
from exporters.precision import Converted, converted
from exporters.references import References, references_of
from exporters.source import Graph, Point, Source, Subject, full_points, rotation_of
from exporters.types import (
    FILE_ENDINGS,
    ExportedModel,
    ExportError,
    FixedGraph,
    MissingPackage,
    NotBenchmarkable,
    Precision,
    TensorSpec,
    axes_key,
    is_engine_format,
    load_reference,
)
from exporters.user_arrays import axes_of, calibration, input_files


def export(request: ExportRequest, holder: int = 0) -> tuple[ExportedModel, bool]:
    """What the request asks for, and whether the cache had all of it.

    The files stay in the cache until the process `holder` (this one for 0) ends. Raises
    GraphlapError for an unknown name; ExportError for what cannot become a checked graph, an
    axis left open or set to what the graph cannot take, and data or nodes that do not fit;
    NotBenchmarkable (status `unsupported`) for what is not to be timed.
    """
    root = Path(request.cache_dir) if request.cache_dir else default_root()
    store = Store(root, request.cache_limit_bytes or default_limit_bytes(), holder)
    if request.null_of is not None:
        from exporters.noop import null_twin

        return null_twin(store, request.null_of, request.points)
    sets = input_files(request)
    source = _source(request)
    subject = _with_sizes(source.subject, sets)
    # A batch without rows has no throughput; a cache without entries is how a prompt begins.
    is_file = request.model.endswith(FILE_ENDINGS)
    may_be_empty = [axis for axis in subject.axes if is_file and axis != subject.batch]
    points = full_points(
        subject.called, request.points, subject.axes, subject.default, may_be_empty
    )
    exported = _Export(request, store, source, points)
    parts, unfit = exported.parts(subject)
    for inputs in lower_thresholds(subject.inputs) if _has_empty_output(parts) else ():
        lower = replace(subject, inputs=inputs)
        with_more, more_unfit = exported.parts(lower)
        if not _has_empty_output(with_more):
            subject, parts, unfit = lower, with_more, more_unfit
            break
    rotation = {}
    if request.rotate_inputs or len(sets) > 1:
        rotation = rotation_of(store, subject, points, request.precision, sets, request.seed)
    model = _describe(request, subject, parts, sets, unfit)
    store.settle()
    return replace(model, rotation=rotation), all(part.stored for part in parts)


@dataclass(frozen=True, slots=True)
class _Part:
    """A graph, what is executed of it and in which types, and its references."""

    graph: Graph
    executed: Converted
    arithmetic: Arithmetic
    references: References

    @property
    def stored(self) -> bool:
        return self.graph.stored and self.executed.stored and self.references.stored

    def outputs(self, precision: Precision) -> tuple[TensorSpec, ...]:
        return cast_specs(self.references.resolved(self.graph.outputs), precision)


def _has_empty_output(parts: Sequence[_Part]) -> bool:
    """Whether drawn inputs leave an output empty, as a threshold does that no score reaches."""
    drawn = [p.references for p in parts if p.references.packaged.reference is None]
    files = [file for references in drawn for file in references.files.values()]
    return any(not a.size for file in files for a in load_reference(file).outputs.values())


@dataclass(frozen=True, slots=True)
class _Export:
    """What is exported, at which points."""

    request: ExportRequest
    store: Store
    source: Source
    points: tuple[Point, ...]

    def parts(self, subject: Subject) -> tuple[list[_Part], dict[str, tuple[str, ...]]]:
        """What follows from each graph, and of points with their own graph why one has none."""
        parts: list[_Part] = []
        unfit: dict[str, ExportError] = {}
        for graph in self.source.graphs(self.store, self.points):
            try:
                parts.append(self._part(subject, graph))
            except ExportError as error:
                if graph.point is None or isinstance(error, NotBenchmarkable):
                    raise
                unfit[axes_key(graph.point)] = error
        if not parts:
            raise next(iter(unfit.values()))
        return parts, {key: (error.cause, error.remedy) for key, error in unfit.items()}

    def _part(self, subject: Subject, graph: Graph) -> _Part:
        """What follows from one graph, for all points or for the one that it is for."""
        request, store = self.request, self.store
        computed = _arithmetic(store, graph.path)
        tolerance = tolerance_of([computed.narrowest], computed.depth, graph.outputs)
        references = references_of(
            store,
            self.source,
            subject,
            graph,
            self.points if graph.point is None else (graph.point,),
            request,
            Bound(tolerance, steps=computed.narrowest == "int8"),
        )
        usual = subject.default or references.points[0]
        executed_graph = _in_precision(request, store, subject, graph, usual)
        if request.states:
            types = {spec.name: spec.dtype for spec in (*graph.outputs, *subject.inputs)}
            for file in references.files.values():
                refuse_unfit_states(subject.states, types, load_reference(file), subject.called)
        if graph.counts.macs is None and references.files and not is_engine_format(graph.path):
            macs = _macs_of_run(request, store, subject, graph, references)
            graph = replace(graph, counts=replace(graph.counts, macs=macs))
        return _Part(graph, executed_graph, _arithmetic(store, executed_graph.path), references)


def _macs_of_run(
    request: ExportRequest, store: Store, subject: Subject, graph: Graph, references: References
) -> int | None:
    """Of the first point; None where they can't be counted."""
    from exporters.onnx_files.counts import MACS, counted

    file = next(iter(references.files.values()))
    cache_entry = done(
        store,
        counted,
        graph.path,
        file,
        subject.inputs,
        request.custom_ops,
        key_facts={"macs of": graph.path.stem, "run on": Path(file).parent.name},
        packages=("onnx", "onnxruntime"),
    )
    macs = cache_entry.entry.facts[MACS]
    return None if macs is None else int(macs)


def _arithmetic(store: Store, graph: Path) -> Arithmetic:
    """The types that a stored graph computes in."""
    cache_entry = done(
        store, told, graph, key_facts={"arithmetic of": graph.stem}, packages=("onnx",)
    )
    return from_json(Arithmetic, cache_entry.entry.facts)


def _source(request: ExportRequest) -> Source:
    """What the request names, built or read."""
    if request.model.endswith(FILE_ENDINGS):
        from exporters.onnx_files.source import file_source

        return file_source(request)
    _need(f"{request.model} is a torch module: its export", "torch", "onnxscript", "onnxruntime")
    from exporters.pytorch.source import module_source

    return module_source(request)


_EXTRAS = {"torch": "torch", "onnxscript": "torch", "onnxruntime": "cpu"}


def _need(work: str, *packages: str) -> None:
    """MissingPackage, with the extras that bring them, if some of the packages are not here."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        extras = ",".join(sorted({_EXTRAS[package] for package in missing}))
        raise MissingPackage(
            f"{work} needs {' and '.join(missing)}, not installed here",
            f"pip install 'graphlap[{extras}]'",
        )


def _with_sizes(subject: Subject, sets: Sequence[Path]) -> Subject:
    """With the sizes of the user's own inputs, where he gives some, as its default ones."""
    if not sets:
        return subject
    return replace(subject, default={**subject.default, **axes_of(sets[0], subject.inputs)})


def _in_precision(
    request: ExportRequest, store: Store, subject: Subject, graph: Graph, axes: Point
) -> Converted:
    """The graph that is executed: the float32 one itself, or what it is converted to."""
    if request.precision == "fp32":
        return Converted(graph.path, graph.opset, (), stored=True)
    _need(f"a graph in {request.precision}", "onnxruntime")
    inputs, batch = subject.inputs, subject.batch
    point = graph.point or axes
    samples = calibration(request.calibration, inputs, point, batch, subject.examples)
    return converted(
        store, subject.called, graph.path, request.precision, samples, request.custom_ops
    )


def _describe(
    request: ExportRequest,
    subject: Subject,
    parts: Sequence[_Part],
    sets: Sequence[Path],
    unfit: Mapping[str, tuple[str, ...]],
) -> ExportedModel:
    first, precision = parts[0], request.precision
    graph, executed = first.graph, first.executed
    packaged, own_names = first.references.packaged, [path.name for path in sets]
    is_drawn = not (sets or packaged.reference or packaged.inputs)
    inputs = subject.inputs if is_drawn else [replace(s, assumed="") for s in subject.inputs]
    drawn = inputs_told(subject.inputs, subject.examples)
    beside = f"{packaged.name} beside the model" if packaged.name else "packaged"
    given = f"{', '.join(own_names)} given" if sets else beside
    random = () if first.references.uncompared else first.references.random
    return ExportedModel(
        name=subject.name,
        suite=subject.suite,
        family=subject.family,
        path=str(executed.path),
        sha256=executed.path.stem,
        opset=executed.opset,
        precision=precision,
        inputs=cast_specs(inputs, precision),
        outputs=first.outputs(precision),
        axes=subject.default or first.references.points[0],
        references={key: file for part in parts for key, file in part.references.files.items()},
        reference=first.references.by,
        states=subject.states,
        batch=subject.batch,
        sequence=subject.sequence,
        factory=graph.factory,
        layers=subject.layers,
        width=subject.width,
        parameters=graph.counts.parameters,
        parameters_with_buffers=graph.counts.parameters_with_buffers,
        macs=graph.counts.macs,
        precision_exceptions=executed.exceptions,
        sources=graph.sources,
        inputs_drawn=drawn if is_drawn else given,
        past=subject.past,
        input_files=tuple(own_names or filter(None, [packaged.name])),
        warnings=(
            *graph.warnings,
            *((diagnostic("outputs_not_deterministic", outputs=random),) if random else ()),
            *guesses(inputs),
            *(
                [diagnostic("data_beside_unused", reason=packaged.refused)]
                if packaged.refused and not sets
                else []
            ),
            *limits(
                cast_specs(subject.inputs, precision),
                {name for part in parts for name in part.references.limited},
                precision,
            ),
        ),
        fixed={
            axes_key(part.graph.point): FixedGraph(
                str(part.executed.path), part.outputs(precision), part.executed.exceptions
            )
            for part in parts
            if part.graph.point is not None
        },
        uncompared=first.references.uncompared,
        random_outputs=random,
        narrowest=first.arithmetic.narrowest,
        depth=first.arithmetic.depth,
        is_integer=first.arithmetic.is_integer,
        bounded_outputs=first.arithmetic.bounded,
        custom_ops=request.custom_ops,
        written_inputs=graph.written_inputs,
        unfit={
            **{key: why for part in parts for key, why in part.references.unfit.items()},
            **unfit,
        },
        # A graph that was converted holds its weights itself.
        beside=tuple(map(str, graph.beside)) if executed.path == graph.path else (),
    )
