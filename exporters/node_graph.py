"""The nodes of a graph as values: what each reads, writes and has to compute at given sizes.

Standard library only, so that a process without onnx can be told of a graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GraphNode:
    """`reads` and `writes` map tensors to the bytes of them that the node must touch.

    None where a size is not known. A node that gives its input another shape touches none.
    `macs` are its multiply-accumulates, None where they are not known.
    """

    name: str
    op: str
    reads: Mapping[str, int | None]
    writes: Mapping[str, int | None]
    macs: int | None = None


@dataclass(frozen=True, slots=True)
class NodeGraph:
    """The nodes of a file in its order and the tensors that it gives.

    `executed` are those of the same graph as an engine runs it, if it told.
    """

    nodes: tuple[GraphNode, ...] = ()
    outputs: tuple[str, ...] = ()
    executed: tuple[GraphNode, ...] = ()

    @property
    def touched_bytes(self) -> int:
        """Each tensor that a run reads or writes, once, as far as their sizes are known."""
        tensors = {t: size for n in self.nodes for t, size in {**n.reads, **n.writes}.items()}
        return sum(size for size in tensors.values() if size is not None)
