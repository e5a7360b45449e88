"""The two kinds of work that every operator is lowered to, still without a card.

Matrices have rows and columns, steps have vectors and elements; which of them are fresh
(depend on the request) and which stale (held state, constants) is part of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    together = max(1, min(block // rows, block // columns))
    return -(-groups // together) * -(-rows // block) * -(-columns // block)


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
