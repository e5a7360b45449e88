"""The nodes of a graph as values: what each reads, writes and has to compute at given sizes.

Standard library only, so that a process without onnx can be told of a graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property


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


@dataclass(frozen=True)
class NodeGraph:
    """The nodes of a file in its order and the tensors that it gives.

    `executed` are those of the same graph as an engine runs it, if it told.
    """

    nodes: tuple[GraphNode, ...] = ()
    outputs: tuple[str, ...] = ()
    executed: tuple[GraphNode, ...] = ()

    def maker(self, tensor: str) -> GraphNode | None:
        """The node that gives a tensor; None for inputs and weights."""
        return self._makers.get(tensor)

    def needing(self, tensor: str) -> Sequence[GraphNode]:
        """The nodes that read a tensor."""
        return self._readers.get(tensor, ())

    def called(self, name: str) -> tuple[str, ...]:
        """The name of the node that is called so, or that gives the tensor that is; or nothing."""
        node = self._by_name.get(name) or self._makers.get(name)
        return (node.name,) if node else ()

    @cached_property
    def _by_name(self) -> dict[str, GraphNode]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def _makers(self) -> dict[str, GraphNode]:
        return {tensor: node for node in self.nodes for tensor in node.writes}

    @cached_property
    def _readers(self) -> dict[str, list[GraphNode]]:
        readers: dict[str, list[GraphNode]] = {}
        for node in self.nodes:
            for tensor in node.reads:
                readers.setdefault(tensor, []).append(node)
        return readers

    @property
    def touched_bytes(self) -> int:
        """Each tensor that a run reads or writes, once, as far as their sizes are known."""
        tensors = {t: size for n in self.nodes for t, size in {**n.reads, **n.writes}.items()}
        return sum(size for size in tensors.values() if size is not None)
