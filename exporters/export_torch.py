"""A definition, or a user's factory, becomes a checked fp32 graph in the store.

Built and exported only when the store lacks it; the module itself is built when somebody
asks for it, since its outputs are the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from exporters.cache import Entry, Store, key_of
from exporters.catalogue import find
from exporters.digest import file_sha256
from exporters.factory_file import is_factory_file, locate
from exporters.inputs import seeded_inputs
from exporters.references import Point
from exporters.request import ExportRequest
from exporters.torch_module import build, build_from_file, failing_part
from exporters.types import Definition, ExportError, TensorSpec
from exporters.user_data import digest_of
from exporters.versions import made_by

if TYPE_CHECKING:
    from torch import nn

MODEL = "model"
_WEIGHTS = "weights"
_MADE_BY = (
    "accounting",
    "export_torch",
    "inputs",
    "onnx_lstm",
    "torch_export",
    "factory_file",
    "torch_module",
    "validate",
    "weights",
)
_PACKAGES = ("numpy", "onnx", "onnx-ir", "onnxscript", "torch")


@dataclass(frozen=True, slots=True)
class Source:
    """A definition with its graph, and its module when it is needed.

    `stored` says that nothing had to be exported; `definition.factory.weights` is the
    store's own copy of the user's weights.
    """

    definition: Definition
    module: Callable[[], nn.Module]
    entry: Entry
    stored: bool


def source_of(request: ExportRequest, store: Store) -> Source:
    """What the request names; GraphlapError or ExportError if it cannot be had."""
    weights = Path(request.weights).expanduser() if request.weights else None
    if is_factory_file(request.model):
        # What such a file imports is not known, so its graph is made anew each time.
        definition, made = build_from_file(locate(request.model), request.seed)
        return _source(definition, lambda: made, weights, store, "")
    definition = find(request.model)
    key = key_of(
        definition=asdict(definition),
        weights=digest_of(weights) if weights else "",
        versions=made_by(
            *_MADE_BY,
            packages=_PACKAGES,
            definition=definition.factory.target.partition(":")[0],
        ),
    )
    return _source(definition, partial(build, definition.factory), weights, store, key)


def _source(
    definition: Definition,
    make: Callable[[], nn.Module],
    weights: Path | None,
    store: Store,
    key: str,
) -> Source:
    @cache
    def module() -> nn.Module:
        built = make()
        if weights is not None:
            from exporters.weights import load_weights

            load_weights(built, weights, definition.name)
        return built

    stored = store.get(key) if key else None
    entry = stored or _export_module(definition, module(), store, key, weights is not None)
    if weights is not None:
        kept = replace(definition.factory, weights=str(entry.files[_WEIGHTS]))
        definition = replace(definition, factory=kept)
    return Source(definition, module, entry, stored is not None)


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
        part = failing_part(module, error)
        raise ExportError(
            f"the torch module does not run on {shapes}{f' at {part!r}' if part else ''} ({error})",
            "set its axes to sizes that every part of it takes",
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


def _export_module(
    definition: Definition, module: nn.Module, store: Store, key: str, keep_weights: bool
) -> Entry:
    """Export, check the file and its numbers, count, and put all of it into the store.

    Without a key it is stored by what came out, which later exports do not replace.
    """
    import torch

    from exporters.accounting import macs, parameter_counts
    from exporters.torch_export import OPSET, deterministic_bytes, output_shapes, to_onnx
    from exporters.validate import check_file, check_numbers
    from exporters.weights import save_weights

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
        files = {MODEL: path}
        if keep_weights:
            files[_WEIGHTS] = folder / "weights.safetensors"
            save_weights(module, files[_WEIGHTS])
        by_content = {label: file_sha256(file) for label, file in files.items()}
        return store.put(key or key_of(**by_content), facts, files)
