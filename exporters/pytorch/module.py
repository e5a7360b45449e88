"""Torch module of a definition: built when it is first needed, a user's weights loaded exactly,
its outputs computed.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from exporters import install_layout
from exporters.module_adapter import named_outputs
from exporters.source import Point
from exporters.types import Definition, ExportError, Factory
from exporters.user_module import Brought

if TYPE_CHECKING:
    from torch import Tensor, nn


def build(factory: Factory) -> nn.Module:
    """The module of a catalogue definition in evaluation mode, its weights from the seed."""
    import torch

    create: Callable[..., nn.Module] = install_layout.load(factory.target)
    torch.manual_seed(factory.seed)
    return create(**factory.arguments).eval()


def failing_part(module: nn.Module, error: Exception) -> str:
    """The name of the innermost part of the module that was at work when `error` arose."""
    names = {id(part): name for name, part in module.named_modules()}
    parts = [
        names.get(id(frame.f_locals.get("self")), "")
        for frame, _ in traceback.walk_tb(error.__traceback__)
    ]
    return next(filter(None, reversed(parts)), "")


_SHOWN_NAMES = 3
"""How many tensors a message names before it says how many more there are."""
# Counts the batches seen in training; no output depends on it, and many files leave it out.
_NO_WEIGHT = "num_batches_tracked"


def load_weights(module: nn.Module, path: Path, model: str) -> None:
    """Copy the file's tensors into the module, in the module's own types.

    ExportError names the tensors that are missing, unknown or of another shape.
    """
    tensors = _read(path)
    module_tensors = {
        name: tensor for name, tensor in module.state_dict().items() if _is_weight(name)
    }
    tensors = {name: tensor for name, tensor in tensors.items() if _is_weight(name)}
    faults = [
        *_fault("missing", [name for name in module_tensors if name not in tensors]),
        *_fault("unknown", [name for name in tensors if name not in module_tensors]),
        *_fault(
            "misshapen",
            [
                f"{name} {list(tensor.shape)} for {list(module_tensors[name].shape)}"
                for name, tensor in tensors.items()
                if name in module_tensors and tensor.shape != module_tensors[name].shape
            ],
        ),
    ]
    if faults:
        raise ExportError(
            f"the weights in {path.name} do not match {model}: {'; '.join(faults)}",
            f"save them with safetensors from the state_dict of {model}",
        )
    module.load_state_dict(tensors, strict=False)


def save_weights(module: nn.Module, path: Path) -> None:
    """Write all tensors of the module, so that it can be built again without the user's file."""
    from safetensors.torch import save_file

    save_file({name: tensor.clone() for name, tensor in module.state_dict().items()}, path)


def _read(path: Path) -> dict[str, Tensor]:
    try:
        from safetensors.torch import load_file
    except ModuleNotFoundError as error:
        raise ExportError(
            "reading weights needs the package safetensors", "pip install 'graphlap[accuracy]'"
        ) from error
    try:
        return load_file(path)
    except OSError as error:
        raise ExportError(
            f"{path} cannot be read ({error.strerror or 'no such file'})",
            "give the path of a .safetensors file",
        ) from error
    except Exception as error:
        raise ExportError(
            f"{path.name} is not a .safetensors file ({error})",
            "save it with safetensors.torch.save_file",
        ) from error


def _is_weight(name: str) -> bool:
    return name.rpartition(".")[2] != _NO_WEIGHT


def _fault(kind: str, names: Iterable[str]) -> list[str]:
    name_list = list(names)
    if not name_list:
        return []
    more = f" and {len(name_list) - _SHOWN_NAMES} more" if len(name_list) > _SHOWN_NAMES else ""
    return [f"{kind} {', '.join(name_list[:_SHOWN_NAMES])}{more}"]


class ModuleEvaluator:
    """The module of a definition with its own or the user's weights, run by torch itself.

    `user_model` is the module where a user's factory has built it already; `is_flat` says that it
    takes tensors by position and returns one or a tuple of them, as modules of the catalogue do.
    """

    name: ClassVar[str] = "torch"
    packages: ClassVar[tuple[str, ...]] = ("torch",)

    def __init__(
        self,
        definition: Definition,
        weights: Path | None = None,
        user_model: Brought | None = None,
        is_flat: bool = True,
    ) -> None:
        self._definition = definition
        self._weights = weights
        self._user_model = user_model
        self._is_flat = is_flat
        self.written_inputs: set[str] = set()
        """The inputs that the module has written to, in any run so far."""

    @property
    def modules(self) -> tuple[str, ...]:
        """This one and the definition's; what a user's file imports is not known."""
        return (
            __name__,
            install_layout.module_name(self._definition.factory.target.partition(":")[0]),
        )

    @property
    def needs(self) -> tuple[str, ...]:
        """No file: weights have made the graph another one."""
        return ()

    @property
    def is_repeatable(self) -> bool:
        """Definitions of the catalogue are; a user's module may draw what it likes."""
        return self._user_model is None

    def expected(
        self, inputs: Mapping[str, np.ndarray], point: Point
    ) -> Mapping[str, Mapping[str, np.ndarray]]:
        """The outputs, computed by torch, by the name of the reference that they are."""
        if self._definition.in_fp64:
            return {f"{self.name} in fp64": self._in_fp64(inputs)}
        return {self.name: self.outputs(inputs, point)}

    def _in_fp64(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The same by a copy of the module in double precision, rounded to the outputs' types."""
        import torch

        module = deepcopy(self.module).double()
        tensors = [
            torch.from_numpy(inputs[spec.name].copy()).double() for spec in self._definition.inputs
        ]
        with torch.inference_mode():
            result = self._run(module, tensors)
        arrays = [output.float().numpy() for output in result.values()]
        return dict(zip(self._definition.outputs, arrays, strict=True))

    @cached_property
    def module(self) -> nn.Module:
        """Built on first use; ExportError if the weights do not fit it."""
        user_model = self._user_model
        module = build(self._definition.factory) if user_model is None else user_model.module
        if self._weights is not None:
            load_weights(module, self._weights, self._definition.name)
        return module

    @cached_property
    def flat(self) -> nn.Module:
        """The module itself where it takes and returns tensors in a row, else in that form."""
        from exporters.pytorch.flatten import Flat

        if self._user_model is None or self._is_flat:
            return self.module
        # The old exporter leaves the parts of a module in the mode that the whole was in.
        return Flat(self.module, self._user_model.call).eval()

    def outputs(self, inputs: Mapping[str, np.ndarray], point: Point) -> dict[str, np.ndarray]:
        """The outputs by name; ExportError if the module raises."""
        import torch

        specs = self._definition.inputs
        # Copies: a module may write to what it is given.
        tensors = [torch.from_numpy(inputs[spec.name].copy()) for spec in specs]
        # Built here, not in inference mode: of weights made there torch exports at half the speed.
        module = self.module
        try:
            with torch.inference_mode():
                result = self._run(module, tensors)
        except Exception as error:
            shapes = {spec.name: inputs[spec.name].shape for spec in specs}
            part = failing_part(module, error)
            raise ExportError(
                f"the torch module does not run on {shapes}{f' at {part!r}' if part else ''} "
                f"({error})",
                "give ids that its tables have"
                if isinstance(error, IndexError)
                else "set its axes to sizes that every part of it takes",
            ) from error
        pairs = zip(specs, tensors, strict=True)
        self.written_inputs |= {spec.name for spec, tensor in pairs if tensor._version}
        # Copies again: a module may return a buffer of its own, which its next run overwrites.
        arrays = [output.detach().numpy().copy() for output in result.values()]
        return dict(zip(self._definition.outputs, arrays, strict=True))

    def _run(self, module: nn.Module, tensors: list[Tensor]) -> dict[str, Tensor]:
        if self._user_model is None:
            return named_outputs(module(*tensors))
        args, kwargs = self._user_model.call.arguments(tensors)
        return named_outputs(module(*args, **kwargs))
