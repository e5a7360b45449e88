"""Steps that every operator is lowered to, still without a card, and the tensors that are held
between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from runtimes.fpga.graph.graph import Graph


@dataclass(frozen=True, slots=True)
class Matrix:
    """Weights that stay on the card: `groups` equal matrices of `rows` rows.

    `parts` are the columns of one group, in parts that are padded to blocks separately.
    """

    name: str
    groups: int
    rows: int
    parts: tuple[int, ...]

    def tiles(self, block: int) -> int:
        """Tiles of block x block that hold the weights."""
        return sum(tiles(self.groups, self.rows, columns, block) for columns in self.parts)


def tiles(groups: int, rows: int, columns: int, block: int) -> int:
    """Tiles of `groups` matrices; several small ones share a tile on its diagonal."""
    if not columns:
        return 0
    groups_per_tile = max(1, min(block // rows, block // columns))
    return -(-groups // groups_per_tile) * -(-rows // block) * -(-columns // block)


@dataclass(frozen=True, slots=True)
class Vectors:
    """`count` vectors with the same split of their columns into fresh and stale parts."""

    count: int
    fresh: tuple[int, ...]
    stale: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MatrixStep:
    """Vectors through the matrix at index `matrix`; `after` are indices of earlier steps.

    A recurrent step may be bound to fewer cores than the card has.
    """

    name: str
    matrix: int
    vectors: tuple[Vectors, ...]
    after: tuple[int, ...]
    recurrent: bool = False


@dataclass(frozen=True, slots=True)
class ElementStep:
    """`passes` over elements; `recurrent` marks the update of a cell, which has its own depth."""

    name: str
    passes: int
    fresh: int
    stale: int
    after: tuple[int, ...]
    recurrent: bool = False


Step = MatrixStep | ElementStep


@dataclass(frozen=True, slots=True)
class Buffer:
    """`size` bytes of a tensor that is held from the step `first` to the step `last`.

    The step `made` writes it (None: it comes over the link or is held state), `reads` read it.
    """

    size: int
    first: int
    last: int
    made: int | None
    reads: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lowered:
    """A whole graph as work: what is held, what is done, what crosses the link.

    Bytes count bf16 elements of what the host sends and fetches for one request; state
    stays on the card. `extrapolated` says why the published tables don't vouch for the
    timing, empty where they do. `layers` are the operators that hold weights, each with its number
    of matrices and the largest width: the rows of one gate. `buffers` are the tensors that lie in
    memory between steps. `rows` is the number of rows of a batch: the first axis of all that
    crosses the link, 1 where that is not one number. `output_steps` make what the host fetches.
    """

    name: str
    matrices: tuple[Matrix, ...]
    steps: tuple[Step, ...]
    input_bytes: int
    output_bytes: int
    extrapolated: str
    layers: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    buffers: tuple[Buffer, ...] = ()
    rows: int = 1
    output_steps: tuple[int, ...] = ()


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
        self._buffers_of: dict[str, tuple[int, ...]] = {}
        for name in graph.inputs:
            self._hold(name, first=0, producer=None)

    def lowered(self, reads: Iterable[str], gives: Iterable[str], steps: range) -> None:
        """A group became these steps; without steps its tensors lie where what it reads does."""
        read = tuple(
            sorted({number for name in reads for number in self._buffers_of.get(name, ())})
        )
        if not steps:
            self._buffers_of.update(dict.fromkeys(gives, read))
            return
        for number in read:
            self._open[number].last = max(self._open[number].last, steps[-1])
            self._open[number].reads.append(steps[0])
        for name in gives:
            self._hold(name, first=steps[0], producer=steps[-1])

    def buffers(self, steps: int) -> tuple[Buffer, ...]:
        """All of them, once every group is lowered. States and outputs stay to the end."""
        stay = [*self._graph.outputs, *(name for pair in self._graph.states for name in pair)]
        for number in {number for name in stay for number in self._buffers_of.get(name, ())}:
            self._open[number].last = max(0, steps - 1)
        return tuple(
            Buffer(entry.size, entry.first, entry.last, entry.made, tuple(entry.reads))
            for entry in self._open
            if entry.size
        )

    def _hold(self, name: str, first: int, producer: int | None) -> None:
        self._buffers_of[name] = (len(self._open),)
        last = first if producer is None else producer
        self._open.append(_Open(self._bytes_of.get(name, 0), first, producer, last))


def live_bytes(buffers: Sequence[Buffer], steps: int) -> list[int]:
    """How much is held during each step."""
    change = [0] * (steps + 1)
    for buffer in buffers:
        if steps:
            change[buffer.first] += buffer.size
            change[buffer.last + 1] -= buffer.size
    live_total, live = 0, []
    for number in range(steps):
        live_total += change[number]
        live.append(live_total)
    return live
