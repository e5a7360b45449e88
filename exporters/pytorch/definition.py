"""A user's torch module as a definition: inputs with their axes, outputs, examples, and its graph
as the bytes of a file.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from exporters import user_module
from exporters.model_names import is_hugging_face
from exporters.module_adapter import is_row, named_outputs
from exporters.pytorch.graph import MODEL, exported
from exporters.pytorch.module import ModuleEvaluator
from exporters.pytorch.to_onnx import Exporter
from exporters.types import Definition, ExportError, Factory, TensorSpec
from exporters.user_module import BATCH, Brought, brought_of

if TYPE_CHECKING:
    from torch import Tensor


# Names that ml_dtypes adds to numpy's, such as bfloat16, no .npz can hold.
_NUMPY_TYPES = frozenset(np.dtype(code).name for code in "?bBhHiIlLqQefd")


def definition_of(
    target: str, title: str, user_model: Brought, seed: int
) -> tuple[Definition, bool]:
    """The definition, its outputs those that the module gives for its example inputs.

    With it, whether the module takes and returns nothing but tensors in a row.

    The batch is 1 and every other axis as in the examples unless a plan says otherwise.
    ExportError if the module does not run, or returns no tensor.
    """
    import torch

    call = user_model.call
    # Copies: the module may write to what it is given, and the examples are fed again later.
    args, kwargs = call.arguments([example.clone() for example in call.examples])
    try:
        with torch.inference_mode():
            result = user_model.module(*args, **kwargs)
    except Exception as error:
        raise ExportError(
            f"the module of {title} cannot run its example inputs ({error})",
            "write a factory that returns the module and its inputs"
            if is_hugging_face(target)
            else "give inputs that its forward takes, by the names of its arguments or in order",
        ) from error
    outputs = named_outputs(result)
    if not outputs:
        raise ExportError(f"the module of {title} returned no tensor", "let it return tensors")
    for kind, tensors in (
        ("input", zip(call.names, call.examples, strict=True)),
        ("output", outputs.items()),
    ):
        for name, tensor in tensors:
            _refuse_no_array(f"{kind} {name!r} of {title}", tensor)
    inputs = tuple(
        TensorSpec(name, str(example.dtype).removeprefix("torch."), shape)
        for name, example, shape in zip(call.names, call.examples, user_model.shapes, strict=True)
    )
    definition = Definition(
        name=title,
        suite="",
        family="",
        source=target,
        factory=Factory(target, {}, seed),
        inputs=inputs,
        outputs=tuple(outputs),
        axes={
            axis: 1 if axis == BATCH else size
            for spec, example in zip(inputs, call.examples, strict=True)
            for axis, size in zip(spec.shape, example.shape, strict=True)
            if isinstance(axis, str)
        },
    )
    return definition, call.is_flat and is_row(result)


def examples_of(user_model: Brought) -> dict[str, np.ndarray]:
    """The example tensors that mean something: floats that are all zero only give a shape."""
    call = user_model.call
    arrays = {n: e.detach().numpy() for n, e in zip(call.names, call.examples, strict=True)}
    return {name: array for name, array in arrays.items() if not _only_a_shape(array)}


def title_of(target: str, requested_title: str) -> str:
    """How rows call the model: `file:factory`, or the name of the folder."""
    if is_hugging_face(requested_title):
        return user_module.title(target)
    path, _, function = target.rpartition(":")
    return f"{path.rpartition('/')[2].removesuffix('.py')}:{function}"


def _refuse_no_array(label: str, tensor: Tensor) -> None:
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in _NUMPY_TYPES:
        raise ExportError(
            f"{label} is {dtype}, which no plain array holds",
            "let its forward take and return float32 or float16, and cast inside",
        )


def _only_a_shape(array: np.ndarray) -> bool:
    return array.dtype.kind == "f" and (not array.any() or not np.isfinite(array).all())


def onnx_bytes(factory_result: tuple[Any, ...], title: str) -> bytes:
    """The graph of a module with example inputs, as a factory returns them, checked against the
    module, which keeps its mode. ExportError where torch can't export it."""
    modes = [(part, part.training) for part in factory_result[0].modules()]
    try:
        return _export_bytes(factory_result, title)
    finally:
        for part, training in modes:
            part.training = training


def _export_bytes(made: tuple[Any, ...], title: str) -> bytes:
    brought = brought_of(made, title)
    definition, is_flat = definition_of(title, title, brought, 0)
    evaluator = ModuleEvaluator(definition, None, brought, is_flat)
    examples = examples_of(brought)
    faults: list[ExportError] = []
    for exporter in get_args(Exporter):
        with TemporaryDirectory() as folder:
            try:
                made_files = exported(
                    Path(folder), definition, evaluator, False, examples, exporter
                ).files
                return made_files[MODEL].read_bytes()
            except ExportError as fault:
                faults.append(fault)
    raise faults[0]
