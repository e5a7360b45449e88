"""A user's .onnx as a source: read, perhaps cut, described, stored by content, with packaged test
data.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from onnx import ModelProto

from exporters.cache import Store, done
from exporters.diagnostics import Diagnostic, diagnostic
from exporters.file_access import file_sha256, user_path
from exporters.input_sets import DATA_SET, data_beside, read_tensor, why_ambiguous
from exporters.inputs import in_ranges, paired
from exporters.messages import ExportRequest, with_sums
from exporters.onnx_files.counts import UNKNOWN, count
from exporters.onnx_files.engine import declare_outputs
from exporters.onnx_files.evaluator import FileEvaluator, is_repeatable
from exporters.onnx_files.graph import part, put_in_order, training_nodes
from exporters.onnx_files.input_roles import past_length
from exporters.onnx_files.model_io import (
    MODEL,
    OBJECTION,
    OnnxFile,
    copied,
    describe,
    name_open_dimensions,
    read,
)
from exporters.onnx_files.sizes import sums
from exporters.source import Graph, Packaged, Point, Subject
from exporters.types import (
    ONNX_ENDING,
    ExportError,
    NotBenchmarkable,
    Reference,
    StatePair,
    TensorSpec,
    is_engine_format,
)
from exporters.user_arrays import own_inputs


def packaged_reference(face: OnnxFile, points: Sequence[Point]) -> Packaged:
    """The data packaged with the file, if there is any that fits all points.

    ExportError if it is damaged.
    """
    folder, stem = face.path.parent, face.path.stem
    data_set, objection = folder / DATA_SET, ""
    if not face.path.with_suffix(".npz").is_file():
        objection = why_ambiguous(data_set) if data_set.is_dir() else ""
        if data_set.is_dir() and not objection:
            inputs = _read_all(face.inputs, data_set, "input")
            outputs, name = _read_all(face.outputs, data_set, "output"), DATA_SET
        else:
            inputs = {spec.name: _ramp(spec) for spec in face.inputs} if not face.axes else None
            outputs, name = _read_all(face.outputs, folder, f"{stem}_output"), ""
        if (inputs is not None and outputs is not None) and all(
            _fits(inputs[s.name], s, point) for s in face.inputs for point in points
        ):
            return Packaged(Reference(inputs, outputs), name=name)
    try:
        found = data_beside(face.path, face.inputs)
        if found is None:
            return Packaged(None, objection)
        file, name = found
        for point in points:
            own_inputs(file, face.inputs, point)
    except ExportError as error:
        return Packaged(None, objection or error.cause)
    return Packaged(None, "", name, file)


def _fits(array: np.ndarray, spec: TensorSpec, point: Point) -> bool:
    return array.shape == spec.shape_at(point) and array.dtype == np.dtype(spec.dtype)


def _read_all(specs: Sequence[TensorSpec], folder: Path, stem: str) -> dict[str, np.ndarray] | None:
    """`STEM_0.pb` and so on, one for each spec in order; None if one is not there."""
    paths = [folder / f"{stem}_{index}.pb" for index in range(len(specs))]
    if not all(path.is_file() for path in paths):
        return None
    return {spec.name: read_tensor(path) for spec, path in zip(specs, paths, strict=True)}


def _ramp(spec: TensorSpec) -> np.ndarray:
    """Even steps from 0 up to 1, what the runner feeds where no input file is given."""
    shape = spec.shape_at({})
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(spec.dtype)


@dataclass(frozen=True, slots=True)
class FileSource:
    """The file's face, its graph without external weights, and the ends of the part cut out.

    With `has_ranges`, its inputs are to be drawn as the user says, whatever lies beside it.
    `is_put_in_order` says that the nodes of the graph stand otherwise in the file.
    """

    face: OnnxFile
    proto: ModelProto
    from_nodes: tuple[str, ...]
    to_nodes: tuple[str, ...]
    states: tuple[StatePair, ...]
    has_ranges: bool
    custom_ops: tuple[str, ...]
    is_put_in_order: bool

    @property
    def subject(self) -> Subject:
        """Known by the file's name; it has no sizes of its own."""
        return Subject(
            name=self.face.path.stem,
            called=self.face.path.name,
            inputs=self.face.inputs,
            axes=self.face.axes,
            default={},
            batch=self.face.batch,
            sequence=self.face.sequence,
            states=self.states,
            past=past_length(self.face.inputs, self.proto.graph),
        )

    def graphs(self, store: Store, points: Sequence[Point]) -> tuple[Graph, ...]:
        """The file, or the part of it, as it is kept."""
        face = self.face
        sources = {face.path.name: file_sha256(face.path)}
        for location, path in face.external.items():
            sources[os.path.normpath(location)] = file_sha256(path)
        cache_entry = done(
            store,
            copied,
            face,
            self.proto,
            self._is_part,
            self.is_put_in_order,
            key_facts={
                "file": sources[face.path.name],
                "external": list(sources.values())[1:],
                "part": [self.from_nodes, self.to_nodes],
            },
            packages=("onnx",),
        )
        objection = str(cache_entry.entry.facts[OBJECTION])
        graph = Graph(
            path=cache_entry.entry.files[MODEL],
            opset=face.opset,
            outputs=face.outputs,
            counts=UNKNOWN if is_engine_format(face.path) else count(self.proto, points[0]),
            stored=cache_entry.stored,
            sources=sources,
            beside=tuple(file for label, file in cache_entry.entry.files.items() if label != MODEL),
            warnings=(
                *([diagnostic("checker_rejects_graph", objection=objection)] if objection else ()),
                *_in_training(training_nodes(self.proto)),
                *_contradictions(sums(face.axes, str(face.sequence or "")), points),
            ),
        )
        return (graph,)

    def evaluator(self, graph: Graph) -> FileEvaluator:
        """ONNX's reference evaluator and ONNX Runtime, on the file as it is kept."""
        return FileEvaluator(
            self.face.path.name,
            graph.path,
            self.face.outputs,
            self.face.inputs,
            is_repeatable=not is_engine_format(self.face.path) and is_repeatable(self.proto),
            custom_ops=self.custom_ops,
        )

    def packaged(self, points: Sequence[Point]) -> Packaged:
        """Data beside the file, which fits the whole of it only."""
        if self._is_part or self.has_ranges:
            return Packaged(None)
        return packaged_reference(self.face, points)

    @property
    def _is_part(self) -> bool:
        return bool(self.from_nodes or self.to_nodes)


def _in_training(nodes: Sequence[str]) -> Iterator[Diagnostic]:
    if nodes:
        yield diagnostic("graph_in_training_mode", nodes=tuple(nodes[:3]), count=len(nodes))


def _contradictions(
    totals: Mapping[str, tuple[str, ...]], points: Sequence[Point]
) -> Iterator[Diagnostic]:
    """Sums of axes that were given another size than their addends have together."""
    for axis, addends in totals.items():
        for point in points:
            free = {name: size for name, size in point.items() if name != axis}
            total = with_sums(free, totals).get(axis)
            if total is not None and point.get(axis, total) != total:
                terms = tuple(f"{term}={point[term]}" for term in addends if term in point)
                yield diagnostic(
                    "axis_is_no_sum", axis=axis, size=point[axis], addends=terms, total=total
                )


def file_source(request: ExportRequest) -> FileSource:
    """The file that the request names, or the part of it between the nodes that it names.

    ExportError for a damaged file and for nodes that nothing connects; NotBenchmarkable for
    weights given along, and for inputs or outputs that no array can hold.
    """
    path = user_path(request.model)
    if request.weights:
        raise NotBenchmarkable(
            f"{path.name} holds its own weights", "give --weights for models of the catalogue"
        )
    is_part = bool(request.from_nodes or request.to_nodes)
    if is_engine_format(path) and (is_part or request.precision != "fp32"):
        raise NotBenchmarkable(
            f"{path.name} is in ONNX Runtime's own format, of which no part can be taken and which "
            "cannot be converted",
            f"give the {ONNX_ENDING} file that it was made from",
        )
    proto = read(path)
    declare_outputs(path, proto, request.custom_ops)
    if is_part:
        proto = part(path.name, proto, request.from_nodes, request.to_nodes)
    face = describe(path, proto)
    name_open_dimensions(proto, face.inputs)
    face = replace(face, inputs=in_ranges(face.inputs, request.input_range, path.name))
    states = paired(face.inputs, [o.name for o in face.outputs], request.states, path.name)
    return FileSource(
        face,
        proto,
        request.from_nodes,
        request.to_nodes,
        states,
        has_ranges=bool(request.input_range),
        custom_ops=request.custom_ops,
        is_put_in_order=put_in_order(proto.graph),
    )
