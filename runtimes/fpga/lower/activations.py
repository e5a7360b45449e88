"""Which tensors are held on the card between steps, and from which step to which.

A tensor that only renames or rearranges others by address lies in their memory. What is fused into
one group never leaves its units, so that only what a group gives is held.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from runtimes.fpga.graph.graph import Graph
from runtimes.fpga.lower.steps import Buffer


@dataclass(slots=True)
class _Open:
    """A buffer whose last reader is not known yet. `made` is None for what the graph is given."""

    size: int
    first: int
    made: int | None
    last: int
    reads: list[int] = field(default_factory=list)


class Activations:
    """Collects the buffers of one graph while its groups are lowered in order."""

    def __init__(self, graph: Graph, bytes_of: dict[str, int]) -> None:
        self._graph = graph
        self._bytes_of = bytes_of
        self._open: list[_Open] = []
        self._of: dict[str, tuple[int, ...]] = {}
        for name in graph.inputs:
            self._hold(name, first=0, made=None)

    def lowered(self, reads: Iterable[str], gives: Iterable[str], steps: range) -> None:
        """A group became these steps; without steps its tensors lie where what it reads does."""
        read = tuple(sorted({number for name in reads for number in self._of.get(name, ())}))
        if not steps:
            self._of.update(dict.fromkeys(gives, read))
            return
        for number in read:
            self._open[number].last = max(self._open[number].last, steps[-1])
            self._open[number].reads.append(steps[0])
        for name in gives:
            self._hold(name, first=steps[0], made=steps[-1])

    def buffers(self, steps: int) -> tuple[Buffer, ...]:
        """All of them, once every group is lowered. States and outputs stay to the end."""
        stay = [*self._graph.outputs, *(name for pair in self._graph.states for name in pair)]
        for number in {number for name in stay for number in self._of.get(name, ())}:
            self._open[number].last = max(0, steps - 1)
        return tuple(
            Buffer(entry.size, entry.first, entry.last, entry.made, tuple(entry.reads))
            for entry in self._open
            if entry.size
        )

    def _hold(self, name: str, first: int, made: int | None) -> None:
        self._of[name] = (len(self._open),)
        last = first if made is None else made
        self._open.append(_Open(self._bytes_of.get(name, 0), first, made, last))


def live_bytes(buffers: Sequence[Buffer], steps: int) -> list[int]:
    """How much is held during each step."""
    change = [0] * (steps + 1)
    for buffer in buffers:
        if steps:
            change[buffer.first] += buffer.size
            change[buffer.last + 1] -= buffer.size
    held, live = 0, []
    for number in range(steps):
        held += change[number]
        live.append(held)
    return live
