"""One export request to one exported model, from the cache where it has it.

The steps, and nothing of how each is done: build, run, export, check, count, store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from exporters.cache import Entry, Store, default_root, key_of
from exporters.catalogue import find
from exporters.export_onnx import export_onnx
from exporters.inputs import seeded_inputs
from exporters.onnx_file import NotBenchmarkable
from exporters.references import Point, full_points, stored_references
from exporters.request import ExportRequest
from exporters.torch_module import build, build_from_file, is_factory_file, locate
from exporters.types import (
    Definition,
    Dimension,
    ExportedModel,
    ExportError,
    Reference,
    TensorSpec,
)

if TYPE_CHECKING:
    from torch import nn

_MODEL = "model"
_PINS = ("numpy", "onnx", "onnx-ir", "onnxscript", "torch")


def export(request: ExportRequest) -> tuple[ExportedModel, bool]:
    """What the request asks for, and whether the cache had all of it.

    Raises GraphlapError for an unknown name, ExportError for what cannot become a checked
    graph, NotBenchmarkable (status `unsupported`) for what is not to be timed.
    """
    _refuse_unsupported(request)
    store = Store(Path(request.cache_dir) if request.cache_dir else default_root())
    if request.model.endswith(".onnx"):
        return export_onnx(request, store, versions())
    if is_factory_file(request.model):
        definition, module = build_from_file(locate(request.model), request.seed)
        # What such a file imports is not known, so its graph is made anew each time.
        key = key_of(factory=definition.factory.target, seed=request.seed)
        entry = _export_module(definition, module, store, key)
        model, _ = _exported_model(request, store, definition, entry, lambda: module)
        return model, False
    definition = find(request.model)
    key = key_of(definition=asdict(definition), precision=request.precision, versions=versions())
    built = cache(lambda: build(definition.factory))
    stored = store.get(key)
    entry = stored or _export_module(definition, built(), store, key)
    model, had_references = _exported_model(request, store, definition, entry, built)
    return model, stored is not None and had_references


@cache
def versions() -> Mapping[str, str]:
    """All whose change may change an exported file: our own sources, and the pinned packages."""
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted(folder.rglob("*.py")):
        digest.update(source.relative_to(folder).as_posix().encode())
        digest.update(source.read_bytes())
    return {"exporters": digest.hexdigest(), **{name: version(name) for name in _PINS}}


def run_module(
    module: nn.Module, specs: Sequence[TensorSpec], inputs: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, ...]:
    """The module's outputs in order, for inputs by name; ExportError if it raises."""
    import torch

    try:
        with torch.inference_mode():
            result = module(*(torch.from_numpy(inputs[spec.name]) for spec in specs))
    except Exception as error:
        shapes = {spec.name: inputs[spec.name].shape for spec in specs}
        raise ExportError(
            f"the torch module does not run on {shapes} ({error})",
            "make it take every size of its axes",
        ) from error
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    return tuple(output.numpy() for output in outputs)


def checked_points(definition: Definition) -> tuple[Point, Point]:
    """Two points at which a graph is compared with its module, neither of them the traced one.

    Batch 1 and 3, and other axes at half and at a little more than their default. No two
    axes have one size in the second, so that each output dimension tells whose it is.
    """
    smaller = {name: max(1, size // 2) for name, size in definition.axes.items()}
    larger = {name: size + 2 + place for place, (name, size) in enumerate(definition.axes.items())}
    return smaller, larger


def _refuse_unsupported(request: ExportRequest) -> None:
    if request.precision != "fp32":
        raise NotBenchmarkable(f"{request.model} cannot be had in {request.precision}", "ask fp32")
    given = {
        "weights": request.weights,
        "inputs": request.inputs,
        "calibration": request.calibration,
        "from_nodes": request.from_nodes,
        "to_nodes": request.to_nodes,
    }
    for name, value in given.items():
        if value:
            raise NotBenchmarkable(
                f"{request.model} cannot be exported with {name}", "leave it out"
            )


def _export_module(definition: Definition, module: nn.Module, store: Store, key: str) -> Entry:
    """Export, check the file and its numbers, count, and put all of it into the store."""
    import torch

    from exporters.accounting import macs, parameter_counts
    from exporters.torch_export import OPSET, deterministic_bytes, output_shapes, to_onnx
    from exporters.validate import check_file, check_numbers

    points = checked_points(definition)
    inputs = [seeded_inputs(definition.inputs, point, seed=0) for point in points]
    expected = [run_module(module, definition.inputs, arrays) for arrays in inputs]
    shapes = output_shapes(definition.outputs, points, [[a.shape for a in e] for e in expected])
    outputs = [
        TensorSpec(name, array.dtype.name, shapes[name])
        for name, array in zip(definition.outputs, expected[0], strict=True)
    ]
    parameters, with_buffers = parameter_counts(module)
    default = seeded_inputs(definition.inputs, definition.axes, seed=0).values()
    facts = {
        "opset": OPSET,
        "outputs": [asdict(spec) for spec in outputs],
        "parameters": parameters,
        "parameters_with_buffers": with_buffers,
        "macs": macs(module, [torch.from_numpy(array) for array in default]),
    }
    with store.scratch() as folder:
        path = folder / "model.onnx"
        path.write_bytes(deterministic_bytes(to_onnx(definition, module, shapes)))
        check_file(path)
        named = [dict(zip(definition.outputs, arrays, strict=True)) for arrays in expected]
        check_numbers(path, definition.name, list(zip(inputs, named, strict=True)))
        return store.put(key, facts, {_MODEL: path})


def _exported_model(
    request: ExportRequest,
    store: Store,
    definition: Definition,
    entry: Entry,
    module: Callable[[], nn.Module],
) -> tuple[ExportedModel, bool]:
    """The model with the torch module's outputs at each point, and whether they were stored."""

    def compute(point: Point) -> Reference:
        inputs = seeded_inputs(definition.inputs, point, request.seed)
        outputs = run_module(module(), definition.inputs, inputs)
        return Reference(inputs, dict(zip(definition.outputs, outputs, strict=True)))

    path, axes = entry.files[_MODEL], definition.axes
    references, had_all = stored_references(
        store,
        {"graph": path.stem, "by": "torch", "seed": request.seed, "versions": versions()},
        full_points(definition.name, request.points, tuple(axes), axes),
        compute,
    )
    fixed_sequence: Dimension | None = 1 if definition.states else None
    outputs = [TensorSpec(**{**s, "shape": tuple(s["shape"])}) for s in entry.facts["outputs"]]
    model = ExportedModel(
        name=definition.name,
        suite=definition.suite,
        family=definition.family,
        path=str(path),
        sha256=path.stem,
        opset=entry.facts["opset"],
        precision="fp32",
        inputs=definition.inputs,
        outputs=tuple(outputs),
        axes=axes,
        references=references,
        reference="torch",
        states=definition.states,
        batch="batch" if "batch" in axes else None,
        sequence="sequence" if "sequence" in axes else fixed_sequence,
        factory=definition.factory,
        layers=definition.layers,
        width=definition.width,
        parameters=entry.facts["parameters"],
        parameters_with_buffers=entry.facts["parameters_with_buffers"],
        macs=entry.facts["macs"],
    )
    return model, had_all
