"""What each output of a null twin is made of: a copy of an input, or one element that fills it.

Takes the tensors of a model and gives a recipe, by which the ONNX graph and the torch module of
the twin are made alike. Every input that holds anything is read by some output, so that no engine
leaves it where it is; every output is written as a whole, with what nobody can know beforehand.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from exporters.types import StatePair, TensorSpec


@dataclass(frozen=True, slots=True)
class Part:
    """One output and the inputs that it reads, by name.

    `is_copy`: it is its one input as it is. Else it is filled with the largest of the inputs'
    first elements, with zero if there are none. Of its first input it takes an element for each
    step of the sizes `along`, where that saves asking for these sizes; `view` is how they lie
    along the output, -1 where they do and 1 elsewhere, None where they lie so already.
    """

    output: TensorSpec
    reads: tuple[str, ...]
    is_copy: bool
    along: tuple[str, ...] = ()
    view: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Recipe:
    """The parts in the order of the outputs. `unread` are inputs that no output could read,
    because each output has to be an input as it is."""

    inputs: tuple[TensorSpec, ...]
    parts: tuple[Part, ...]
    unread: tuple[str, ...] = ()


def recipe(
    inputs: Sequence[TensorSpec],
    outputs: Sequence[TensorSpec],
    states: Sequence[StatePair] = (),
    empty: Collection[str] = (),
) -> Recipe:
    """States are copied; so is an input of an output's own type and shape, once; else it is filled.

    `empty` are the inputs that have no elements, of which there is nothing to read.
    """
    readable = {spec.name: spec for spec in inputs if spec.name not in empty}
    passed_on = {spec.name: spec.name for spec in inputs}
    bound = passed_on | {pair.output: pair.input for pair in states}
    copied = {o.name: bound[o.name] for o in outputs if o.name in bound}
    waiting = {name: spec for name, spec in readable.items() if name not in copied.values()}
    chosen: dict[str, str] = {}
    for output in outputs:
        alike = [spec.name for spec in waiting.values() if _kind(spec) == _kind(output)]
        if output.name not in copied and alike:
            chosen[output.name] = alike[0]
            del waiting[alike[0]]
    if waiting and chosen and len(copied) + len(chosen) == len(outputs):
        # A copy reads one input only, so one output is filled for the sake of the others.
        _, freed = chosen.popitem()
        waiting[freed] = readable[freed]
    copied |= chosen
    filled = [output for output in outputs if output.name not in copied]
    reads = _shared_out(filled, waiting, readable) if filled else {}
    known = {spec.name: spec for spec in inputs}
    parts = (
        Part(output, (copied[output.name],), is_copy=True)
        if output.name in copied
        else _filled(output, [known[name] for name in reads[output.name]])
        for output in outputs
    )
    return Recipe(tuple(inputs), tuple(parts), () if filled else tuple(waiting))


def _shared_out(
    filled: Sequence[TensorSpec],
    waiting: Mapping[str, TensorSpec],
    readable: Mapping[str, TensorSpec],
) -> Mapping[str, tuple[str, ...]]:
    """Which inputs each output reads: one of its own type if it can, and all of them somewhere."""
    left = dict(waiting)
    found: dict[str, tuple[str, ...]] = {}
    for output in filled:
        own = [spec.name for spec in left.values() if spec.dtype == output.dtype]
        found[output.name] = tuple(own[:1])
        for name in own[:1]:
            del left[name]
    for place, name in enumerate(left):
        found[filled[place % len(filled)].name] += (name,)
    for output in filled:
        own = [spec.name for spec in readable.values() if spec.dtype == output.dtype]
        found[output.name] = found[output.name] or tuple([*own, *readable][:1])
    return found


def _filled(output: TensorSpec, read: Sequence[TensorSpec]) -> Part:
    """Along its open sizes where the first input has them in the same places, counted from the
    end, or where there is one at most, which a view can put there."""
    part = Part(output, tuple(spec.name for spec in read), is_copy=False)
    if not read:
        return part
    given, wanted = read[0].shape, output.shape
    more = len(wanted) - len(given)

    def is_once(size: str) -> bool:
        return given.count(size) == wanted.count(size) == 1

    open_sizes = [size for size in wanted if isinstance(size, str)]
    along = tuple(open_sizes) if all(map(is_once, open_sizes)) else ()
    in_place = more >= 0 and all(given.index(s) + more == wanted.index(s) for s in along)
    if not in_place and len(along) > 1:
        along, in_place = (), more >= 0
    view = None if in_place else tuple(-1 if size in along else 1 for size in wanted)
    return replace(part, along=along, view=view)


def _kind(spec: TensorSpec) -> tuple[object, ...]:
    return spec.dtype, spec.shape
