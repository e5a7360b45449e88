"""What a plan asks of a user's .onnx and what it is told: values that the parent may import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporters.types import TensorSpec


@dataclass(frozen=True, slots=True)
class Outline:
    """`batch` and `sequence` are the open axes that play those parts, empty where none does.

    `assumed` are the sizes of axes that nobody has set; an axis without one must be set. `sums` are
    the axes that follow from others, with their addends: names of axes, and numbers as text.
    """

    inputs: tuple[TensorSpec, ...]
    axes: tuple[str, ...]
    batch: str = ""
    sequence: str = ""
    assumed: Mapping[str, int] = field(default_factory=dict)
    sums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutlineRequest:
    """A file, or the part of it between the nodes.

    `closely` has all of it read but its weights: whether the files that hold them are there too.
    """

    path: str
    from_nodes: tuple[str, ...] = ()
    to_nodes: tuple[str, ...] = ()
    closely: bool = False


@dataclass(frozen=True, slots=True)
class OutlineReply:
    """The outline, or why there is none: a cause and a remedy."""

    outline: Outline | None = None
    cause: str = ""
    remedy: str = ""


def with_sums(sizes: Mapping[str, int], totals: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """The sizes with those sums all of whose addends have one."""
    complete = dict(sizes)
    for axis, addends in totals.items():
        if axis not in sizes and all(term in sizes or term.isdecimal() for term in addends):
            complete[axis] = sum(int(sizes.get(term, term)) for term in addends)
    return complete
