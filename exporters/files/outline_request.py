"""What a plan asks of a user's .onnx and what it is told: values that the parent may import."""

from __future__ import annotations

from dataclasses import dataclass

from exporters.types import TensorSpec


@dataclass(frozen=True, slots=True)
class Outline:
    """`batch` and `sequence` are the open axes that play those parts, empty where none does."""

    inputs: tuple[TensorSpec, ...]
    axes: tuple[str, ...]
    batch: str = ""
    sequence: str = ""


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
