"""A user's trained weights for a definition: a .safetensors file into a torch module, exactly.

Nothing is guessed: every tensor of the module must be there in its shape, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from exporters.types import ExportError

if TYPE_CHECKING:
    from torch import Tensor, nn

_NAMED = 3
"""How many tensors a message names before it says how many more there are."""
# Counts the batches seen in training; no output depends on it, and many files leave it out.
_NO_WEIGHT = "num_batches_tracked"


def load_weights(module: nn.Module, path: Path, model: str) -> None:
    """Copy the file's tensors into the module, in the module's own types.

    ExportError names the tensors that are missing, unknown or of another shape.
    """
    given = _read(path)
    own = {name: tensor for name, tensor in module.state_dict().items() if _is_weight(name)}
    given = {name: tensor for name, tensor in given.items() if _is_weight(name)}
    faults = [
        *_fault("missing", [name for name in own if name not in given]),
        *_fault("unknown", [name for name in given if name not in own]),
        *_fault(
            "misshapen",
            [
                f"{name} {list(tensor.shape)} for {list(own[name].shape)}"
                for name, tensor in given.items()
                if name in own and tensor.shape != own[name].shape
            ],
        ),
    ]
    if faults:
        raise ExportError(
            f"the weights in {path.name} do not match {model}: {'; '.join(faults)}",
            f"save them with safetensors from the state_dict of {model}",
        )
    module.load_state_dict(given, strict=False)


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
    found = list(names)
    if not found:
        return []
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return [f"{kind} {', '.join(found[:_NAMED])}{more}"]
