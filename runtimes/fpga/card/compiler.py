"""All stages in a row: a graph and a card in, everything that is known about the pair out."""

from __future__ import annotations

from dataclasses import dataclass

from runtimes.fpga.card.instructions import Instruction, assemble
from runtimes.fpga.card.memory import ActivationMemory, activation_memory
from runtimes.fpga.card.placement import Placement, place
from runtimes.fpga.card.schedule import Scheduler
from runtimes.fpga.cards import Card, Release
from runtimes.fpga.graph.graph import Graph
from runtimes.fpga.lower import lower
from runtimes.fpga.lower.steps import Lowered


@dataclass(frozen=True, slots=True)
class Compiled:
    """One graph on one card at one release."""

    card: Card
    release: Release
    lowered: Lowered
    placement: Placement
    memory: ActivationMemory
    program: tuple[Instruction, ...]
    scheduler: Scheduler


def compile_graph(graph: Graph, card: Card, release: str = "") -> Compiled:
    """Compile for a release of the card, the newest for "".

    Raises CardError for an unknown release, Unsupported for a node that can't be lowered,
    a type without a path and a graph that needs more tiles or memory than the card has.
    """
    return compile_lowered(lower(graph), card, release)


def compile_lowered(lowered: Lowered, card: Card, release: str = "") -> Compiled:
    """`compile_graph` for a graph that is lowered already, to try it on many cards."""
    chosen = card.release(release)
    placement = place(lowered, card, chosen)
    memory = activation_memory(lowered, card)
    program = assemble(lowered, card, chosen, memory.moved_bytes)
    scheduler = Scheduler(program, works_ahead=chosen.works_ahead)
    return Compiled(card, chosen, lowered, placement, memory, program, scheduler)
