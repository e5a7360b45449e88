"""Adapter that calls a torch module of any signature with a flat list of tensors and flattens its
outputs.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from exporters.types import ExportError

if TYPE_CHECKING:
    from torch import Tensor, nn

SOLE_OUTPUT = "y"
"""What the output of a module that returns one tensor is called; `y_0`, `y_1` of a tuple."""


@dataclass(frozen=True, slots=True)
class Call:
    """Example arguments of a module; their tensors, in order, go by `names`."""

    names: tuple[str, ...]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    @property
    def examples(self) -> tuple[Tensor, ...]:
        """The tensors of the example arguments, in the order of `names`."""
        values = (*self.args, *self.kwargs.values())
        return tuple(tensor for value in values for _, tensor in _leaves("", value))

    @property
    def is_flat(self) -> bool:
        """Whether the tensors are the positional arguments themselves."""
        return not self.kwargs and all(map(_is_tensor, self.args))

    def arguments(self, tensors: Sequence[Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The example arguments with these tensors in place of theirs."""
        if self.is_flat:
            return tuple(tensors), {}
        following = iter(tensors)
        args = tuple(_filled(value, following) for value in self.args)
        return args, {name: _filled(value, following) for name, value in self.kwargs.items()}


def call_of(module: nn.Module, example: object) -> Call:
    """The call that example inputs stand for, in any form that a factory may return.

    A mapping names tensors: keywords if forward has parameters of these names, else their order
    counts. A tuple of a sequence and a mapping is positional and keyword arguments, a list or
    another tuple positional ones, a tensor the only one. ValueError if there is no tensor in it.
    """
    match example:
        case Mapping():
            call = _call_of_mapping(module, example)
        case ((tuple() | list()) as args, Mapping() as kwargs):
            call = _call_of_arguments(module, tuple(args), dict(kwargs))
        case tuple() | list():
            call = _call_of_arguments(module, tuple(example), {})
        case _:
            call = _call_of_arguments(module, (example,), {})
    if not call.names:
        raise ValueError("there is no tensor among its example inputs")
    return call


def named_outputs(result: Any) -> dict[str, Tensor]:
    """The tensors that a module returned, by name: a dict's keys, a dataclass's fields.

    Numbers, texts and None beside them are left out. What lies deeper has a dotted name.
    """
    if _is_tensor(result):
        return {SOLE_OUTPUT: result}
    parts = _parts(result) or ()
    if _is_sequence(result):
        tops = [SOLE_OUTPUT] if len(result) == 1 else [f"{SOLE_OUTPUT}_{n}" for n, _ in parts]
        parts = [(top, value) for top, (_, value) in zip(tops, parts, strict=True)]
    return {name: tensor for top, value in parts for name, tensor in _leaves(top, value)}


def is_row(result: Any) -> bool:
    """Whether a module returned one tensor, or a tuple or list of tensors and nothing else."""
    return _is_tensor(result) or (_is_sequence(result) and all(map(_is_tensor, result)))


def _call_of_mapping(module: nn.Module, given: Mapping[str, Any]) -> Call:
    parameters = inspect.signature(module.forward).parameters
    named = [name for name, p in parameters.items() if p.kind is not p.VAR_KEYWORD]
    if all(name in named for name in given):
        return _call_of_arguments(module, (), dict(given))
    tensors = [pair for name, value in given.items() for pair in _leaves(str(name), value)]
    return Call(tuple(name for name, _ in tensors), tuple(given.values()), {})


def _call_of_arguments(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """Keywords become positions as far as forward allows, so that a plain call stays plain."""
    bound = inspect.signature(module.forward).bind(*args, **kwargs)
    names: list[str] = []
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            pairs = [pair for key, item in value.items() for pair in _leaves(key, item)]
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            pairs = [pair for n, item in enumerate(value) for pair in _leaves(f"{name}_{n}", item)]
        else:
            pairs = list(_leaves(name, value))
        names += [found for found, _ in pairs]
    return Call(tuple(names), bound.args, bound.kwargs)


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Tensor]]:
    """Every tensor in a value, depth first."""
    if _is_tensor(value):
        yield name, value
        return
    for part, inner in _parts(value) or ():
        yield from _leaves(f"{name}.{part}", inner)


def _filled(value: Any, following: Iterator[Tensor]) -> Any:
    """The value with the next tensors in place of its own."""
    parts = _parts(value)
    if parts is None:
        return next(following) if _is_tensor(value) else value
    items = [_filled(item, following) for _, item in parts]
    kind: Any = type(value)
    if isinstance(value, Mapping):
        return kind(zip(value, items, strict=True))
    if _is_sequence(value):
        return kind(*items) if hasattr(value, "_fields") else kind(items)
    if is_dataclass(kind):
        return replace(value, **dict(zip((name for name, _ in parts), items, strict=True)))
    return _registered_types()[kind].unflatten_fn(
        items, _registered_types()[kind].flatten_fn(value)[1]
    )


def _parts(value: Any) -> list[tuple[str, Any]] | None:
    """What a container holds, by name; None for what is none."""
    if isinstance(value, Mapping):
        return [(str(key), item) for key, item in value.items()]
    if _is_sequence(value):
        names = getattr(value, "_fields", range(len(value)))
        return [(str(name), item) for name, item in zip(names, value, strict=True)]
    if is_dataclass(value) and not isinstance(value, type):
        return [(part.name, getattr(value, part.name)) for part in fields(value)]
    if type(value) in _registered_types():
        items = _registered_types()[type(value)].flatten_fn(value)[0]
        return [(str(number), item) for number, item in enumerate(items)]
    return None


def _registered_types() -> Mapping[type, Any]:
    """The containers of others that torch knows how to take apart."""
    from torch.utils import _pytree

    return _pytree.SUPPORTED_NODES


def _is_sequence(value: object) -> bool:
    return isinstance(value, tuple | list)


def _is_tensor(value: object) -> bool:
    from torch import Tensor

    return isinstance(value, Tensor)


def refuse_elsewhere(call: Call, module: nn.Module, target: str) -> None:
    """ExportError for a tensor that does not lie in the host's memory."""
    tensors = {f"input {n!r}": t for n, t in zip(call.names, call.examples, strict=True)}
    tensors |= {f"weight {name!r}": tensor for name, tensor in module.named_parameters()}
    for name, tensor in tensors.items():
        if tensor.device.type != "cpu":
            raise ExportError(
                f"{name} of {target} is on the device {tensor.device}",
                "return module and inputs on the CPU: a runtime takes them where it runs",
            )
