"""One export request to one exported model, from the cache where it has it.

The steps, and nothing of how each is done: build, run, export, check, count, convert, store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from exporters import precision
from exporters.cache import Store, default_limit_bytes, default_root
from exporters.export_torch import MODEL, Source, run_module, source_of
from exporters.factory_file import is_factory_file
from exporters.inputs import seeded_inputs
from exporters.references import LARGEST_COMPUTED, Point, full_points, stored_references
from exporters.request import ExportRequest
from exporters.types import Dimension, ExportedModel, ExportError, Reference, TensorSpec
from exporters.user_data import axes_of, calibration, digest_of, own_inputs
from exporters.versions import made_by


def export(request: ExportRequest, holder: int = 0) -> tuple[ExportedModel, bool]:
    """What the request asks for, and whether the cache had all of it.

    The files stay in the cache until the process `holder` (this one for 0) ends. Raises
    GraphlapError for an unknown name, ExportError for what cannot become a checked graph,
    NotBenchmarkable (status `unsupported`) for what is not to be timed.
    """
    root = Path(request.cache_dir) if request.cache_dir else default_root()
    store = Store(root, request.cache_limit_bytes or default_limit_bytes(), holder)
    if request.model.endswith(".onnx"):
        from exporters.export_onnx import export_onnx

        result = export_onnx(request, store)
    else:
        result = _export_definition(request, store)
    store.settle()
    return result


def _export_definition(request: ExportRequest, store: Store) -> tuple[ExportedModel, bool]:
    if request.from_nodes or request.to_nodes:
        raise ExportError(
            f"{request.model} is no .onnx file, and parts are cut out of those only",
            "leave --from-node and --to-node out",
        )
    source = source_of(request, store)
    own = Path(request.inputs).expanduser() if request.inputs else None
    definition = source.definition
    asked = request.points or ((axes_of(own, definition.inputs),) if own else ())
    points = full_points(definition.name, asked, tuple(definition.axes), definition.axes)
    graph = source.entry.files[MODEL]
    references, had_references = _references(request, store, source, points, own)
    path, had_graph = graph, source.stored
    exceptions: tuple[str, ...] = ()
    if request.precision != "fp32":
        digest, samples = calibration(
            request.calibration, definition.inputs, definition.axes, "batch"
        )
        other = precision.converted(
            store, definition.name, graph, request.precision, digest, samples
        )
        path, exceptions, had_graph = other.path, other.exceptions, had_graph and other.stored
    model = _exported_model(request, source, path)
    model = replace(model, references=references, precision_exceptions=exceptions)
    return model, had_graph and had_references


def _references(
    request: ExportRequest,
    store: Store,
    source: Source,
    points: Sequence[Point],
    own: Path | None,
) -> tuple[dict[str, str], bool]:
    """The torch module's outputs at each point, in fp32 whatever the precision.

    An fp16 graph is fed float16, and the module the same values in float32, so that the
    error of a row is the runtime's and not that of rounding its inputs.
    """
    definition = source.definition
    fed_specs = precision.cast_specs(definition.inputs, request.precision)

    def compute(point: Point) -> Reference:
        if own:
            inputs = own_inputs(own, definition.inputs, point)
        else:
            inputs = seeded_inputs(definition.inputs, point, request.seed)
        fed = precision.cast_inputs(inputs, fed_specs)
        exact = precision.cast_inputs(fed, definition.inputs)
        outputs = run_module(source.module(), definition.inputs, exact)
        return Reference(fed, dict(zip(definition.outputs, outputs, strict=True)))

    about = {
        "graph": source.entry.files[MODEL].stem,
        "by": "torch",
        "inputs": digest_of(own) if own else request.seed,
        "types": [spec.dtype for spec in fed_specs],
        "versions": made_by("inputs", packages=("numpy", "torch")),
    }
    repeatable = None if own or is_factory_file(request.model) else _batch_positions(source)
    about["repeated_beyond"] = LARGEST_COMPUTED if repeatable else 0
    return stored_references(store, about, points, compute, repeatable)


def _batch_positions(source: Source) -> dict[str, int] | None:
    """Where each input and output of a catalogue model has its batch; None if one has none.

    The rows of the catalogue's models do not depend on each other, which its tests show.
    """
    shapes = {f"input:{spec.name}": spec.shape for spec in source.definition.inputs}
    shapes |= {f"output:{s['name']}": tuple(s["shape"]) for s in source.entry.facts["outputs"]}
    if any(shape.count("batch") != 1 for shape in shapes.values()):
        return None
    return {name: shape.index("batch") for name, shape in shapes.items()}


def _exported_model(request: ExportRequest, source: Source, path: Path) -> ExportedModel:
    """The model without its references."""
    definition, facts = source.definition, source.entry.facts
    axes = definition.axes
    fixed_sequence: Dimension | None = 1 if definition.states else None
    outputs = [TensorSpec(**{**s, "shape": tuple(s["shape"])}) for s in facts["outputs"]]
    return ExportedModel(
        name=definition.name,
        suite=definition.suite,
        family=definition.family,
        path=str(path),
        sha256=path.stem,
        opset=facts["opset"],
        precision=request.precision,
        inputs=precision.cast_specs(definition.inputs, request.precision),
        outputs=precision.cast_specs(outputs, request.precision),
        axes=axes,
        references={},
        reference="torch",
        states=definition.states,
        batch="batch" if "batch" in axes else None,
        sequence="sequence" if "sequence" in axes else fixed_sequence,
        factory=definition.factory,
        layers=definition.layers,
        width=definition.width,
        parameters=facts["parameters"],
        parameters_with_buffers=facts["parameters_with_buffers"],
        macs=facts["macs"],
    )
