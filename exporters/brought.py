"""A torch module as its user brings it: by a factory in a file, or from a Hugging Face folder.

Built anew from its target in each process that needs it, always in the same way: the export
process and a measuring process of torch must have the same module and call it alike.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporters import hugging_face
from exporters.calling import Call, call_of, refuse_elsewhere
from exporters.factory_file import FORM, is_hugging_face, run_file
from exporters.types import Dimension, ExportError

if TYPE_CHECKING:
    from torch import nn

BATCH = "batch"


@dataclass(frozen=True, slots=True)
class Brought:
    """A module in evaluation mode, how it is called, and the shape of each input.

    A dimension of `shapes` is a size, or the name of the axis that sets it.
    """

    module: nn.Module
    call: Call
    shapes: tuple[tuple[Dimension, ...], ...]


def is_brought(target: str) -> bool:
    """Whether a factory's target is a user's own, and not a module of the catalogue."""
    return is_hugging_face(target) or target.rpartition(":")[0].endswith(".py")


def bring(target: str, seed: int) -> Brought:
    """Build what `path/file.py:factory` or `hf:PATH` names, its random values from the seed.

    ExportError says in one sentence what the factory did wrong, or why the folder is no model.
    """
    import torch

    torch.manual_seed(seed)
    if is_hugging_face(target):
        return brought_of(hugging_face.load(target), target)
    return brought_of(_called(target), _short(target))


def brought_of(made: Any, called: str) -> Brought:
    """What a factory returned, in evaluation mode; ExportError if it is no module with inputs."""
    from torch import nn

    match made:
        case (nn.Module() as module, given):
            options: Mapping[str, Any] = {}
        case (nn.Module() as module, given, Mapping() as options):
            pass
        case _:
            raise ExportError(f"{called} returned {_told(made)}", FORM)
    unknown = [name for name in options if name != "axes"]
    if unknown:
        raise ExportError(f"{called} gives the option {unknown[0]!r}", "the one there is is 'axes'")
    try:
        call = call_of(module, given)
    except (TypeError, ValueError) as error:
        raise ExportError(
            f"the example inputs of {called} do not fit its module's forward ({error})", FORM
        ) from error
    refuse_elsewhere(call, module, called)
    return Brought(module.eval(), call, _shapes(call, options, called))


def _short(target: str) -> str:
    path, _, function = target.rpartition(":")
    return f"{Path(path).name}:{function}"


def _called(target: str) -> Any:
    """What the factory returns; ExportError with the line of the user's file if it raises."""
    file, _, function = target.rpartition(":")
    try:
        return getattr(run_file(Path(file)), function)()
    except Exception as error:
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == file
        ]
        at = f" in line {lines[-1]}" if lines else ""
        raise ExportError(
            f"{_short(target)} raised {type(error).__name__}: {error}{at}",
            FORM if isinstance(error, TypeError) else "correct that line",
        ) from error


def _told(made: object) -> str:
    """What a factory returned instead of what it should, in words."""
    if made is None:
        return "None"
    if inspect.isgenerator(made):
        return "a generator: write return instead of yield"
    if isinstance(made, tuple):
        kinds = ", ".join(type(part).__name__ for part in made)
        return f"no module with inputs but ({kinds})"
    return f"no module with inputs but a {type(made).__name__}"


def _shapes(
    call: Call, options: Mapping[str, Any], called: str
) -> tuple[tuple[Dimension, ...], ...]:
    """Every input's shape with its named axes.

    Without `axes` the leading dimension is the batch, where all inputs that have one agree in
    its size: edges [2, e] beside nodes [n, f] have no batch.
    """
    sizes = [tuple(example.shape) for example in call.examples]
    if "axes" not in options:
        leading = {shape[0] for shape in sizes if shape}
        return tuple((BATCH, *s[1:]) if s and len(leading) == 1 else s for s in sizes)
    axes = options["axes"]
    if not isinstance(axes, Mapping):
        raise ExportError(
            f"the axes that {called} gives are a {type(axes).__name__}",
            'write {"axes": {"input_ids": ["batch", "sequence"]}}',
        )
    for name in axes:
        if name not in call.names:
            near = get_close_matches(str(name), call.names, n=1)
            remedy = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(call.names)}"
            raise ExportError(f"{called} names the axes of {name!r}, which is no input", remedy)
    shapes = tuple(
        _named_sizes(name, size, axes.get(name, ()), called)
        for name, size in zip(call.names, sizes, strict=True)
    )
    _refuse_two_sizes(call, shapes, sizes, called)
    return shapes


def _named_sizes(
    name: str, sizes: Sequence[int], axes: object, called: str
) -> tuple[Dimension, ...]:
    """The shape of one input: a name or None for each dimension, or {position: name}."""
    given: dict[Any, Any]
    given = dict(axes) if isinstance(axes, Mapping) else dict(enumerate(_listed(axes)))
    named = {place: axis for place, axis in given.items() if axis is not None}
    for place, axis in named.items():
        if (
            not isinstance(axis, str)
            or not isinstance(place, int)
            or place not in range(len(sizes))
        ):
            raise ExportError(
                f"{called} gives {name!r} of {len(sizes)} dimensions the axes {axes!r}",
                "give a name, or None for a fixed size, for each of its dimensions in order",
            )
    return tuple(named.get(place, size) for place, size in enumerate(sizes))


def _listed(axes: object) -> Sequence[object]:
    return [axes] if isinstance(axes, str) or not isinstance(axes, Sequence) else axes


def _refuse_two_sizes(
    call: Call,
    shapes: Sequence[Sequence[Dimension]],
    sizes: Sequence[Sequence[int]],
    called: str,
) -> None:
    known: dict[str, tuple[int, str]] = {}
    for name, shape, actual in zip(call.names, shapes, sizes, strict=True):
        for axis, size in zip(shape, actual, strict=True):
            if isinstance(axis, str) and known.setdefault(axis, (size, name))[0] != size:
                other, there = known[axis]
                raise ExportError(
                    f"the axis {axis!r} of {called} is {other} in {there!r} and {size} in {name!r}",
                    "give example inputs whose sizes agree, or axes of different names",
                )
