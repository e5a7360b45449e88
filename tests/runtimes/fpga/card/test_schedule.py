"""The schedule against hand-written formulas; weights and activations in the card's memories."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtimes.errors import Unsupported
from runtimes.fpga.card.compiler import Compiled, Instruction, Scheduler, Unit, compile_graph, place
from runtimes.fpga.card.timing import fidelity, latency_us
from runtimes.fpga.cards import Card, load_card
from runtimes.fpga.lower.steps import Lowered, Matrix, MatrixStep
from tests.runtimes.fpga.graphs import ModelBuilder, cnn_step, lstm_step, mlp
from tests.runtimes.fpga.published import Row, read_rows

FITTING = [row for row in read_rows() if row.fits]
HUGE = replace(load_card("v80"), tiles_per_core=10**6)


def compiled(builder: ModelBuilder, card: Card = HUGE) -> Compiled:
    return compile_graph(builder.graph(), card)


def cycles(builder: ModelBuilder, card: Card = HUGE) -> tuple[int, int]:
    """Spaced and contiguous."""
    scheduler = compiled(builder, card).scheduler
    return scheduler.after_idle(None).cycles, scheduler.after_idle(0).cycles


def closed_form(row: Row, spaced: bool) -> int:
    """Every layer waits for the one before, so depths and issues simply add up."""
    card = {"V80": (6, 32, 0), "IA-840F": (3, 64, 5), "IA-420F": (6, 32, 5)}[row.card]
    cores, block, more = card
    blocks = ceil(row.width / block)
    if row.family == "cnn":
        taps = 1 if spaced else 8
        product = ceil(blocks * blocks * taps / cores) + 32 + more
        return row.layers * (product + ceil(blocks / cores) + 25)
    bound = 3 if (row.card, row.release) == ("IA-420F", "sdk21") else cores
    halves = 1 if spaced else 2
    gates = ceil(ceil(4 * row.width / block) * blocks * halves / bound) + 32 + more
    layer = gates + ceil(blocks / bound) + 12
    return row.layers * layer + ceil(ceil(32 / block) * blocks / cores) + 32 + more


@pytest.mark.parametrize("row", FITTING, ids=lambda row: f"{row.model}-{row.card}")
def test_the_schedule_equals_the_closed_form(row: Row) -> None:
    compiled_row = row.compile()
    for spaced in (True, False):
        schedule = compiled_row.scheduler.after_idle(None if spaced else 0)
        assert schedule.cycles == closed_form(row, spaced and compiled_row.release.works_ahead)


@pytest.mark.parametrize("row", FITTING[::4], ids=lambda row: f"{row.model}-{row.card}")
def test_the_critical_path_accounts_for_every_cycle(row: Row) -> None:
    schedule = row.compile().scheduler.after_idle(None)
    path = schedule.critical_path()
    assert path[0].begun == 0
    assert path[-1].done == schedule.cycles
    for event, next_event in pairwise(path):
        assert next_event.begun in (event.issued, event.done)


def instruction(
    unit: Unit, issue: int, depth: int, *predecessors: int, ahead_cycles: int = 0
) -> Instruction:
    left = issue - ahead_cycles
    return Instruction(unit, unit, issue, left, ahead_cycles, depth, issue, predecessors)


def test_units_overlap_and_each_keeps_its_order() -> None:
    program = [
        instruction("matrix", 10, 30),
        instruction("element", 5, 20, 0),
        instruction("matrix", 10, 30),
        instruction("matrix", 4, 30, 1),
        instruction("element", 5, 20, 2),
    ]
    events = Scheduler(program).after_idle(0).events
    assert [(e.begun, e.issued, e.done) for e in events] == [
        (0, 10, 40),
        (40, 45, 65),
        (10, 20, 50),
        (65, 69, 99),
        (50, 55, 75),
    ]
    assert [e.waited_for for e in events] == [None, 0, 0, 1, 2]


def test_work_ahead_goes_in_order_and_stops_where_the_request_arrives() -> None:
    program = [
        instruction("matrix", 12, 30, ahead_cycles=8),
        instruction("matrix", 12, 30, 0, ahead_cycles=8),
    ]
    scheduler = Scheduler(program)
    assert scheduler.ahead_cycles == 16
    ahead_events = [
        [e.ahead for e in scheduler.after_idle(idle).events] for idle in (0, 5, 8, 11, 16)
    ]
    assert ahead_events == [[0, 0], [5, 0], [8, 0], [8, 3], [8, 8]]
    lengths = [scheduler.after_idle(idle).cycles for idle in (0, 5, 8, 11, 16, 99)]
    assert lengths == [84, 79, 76, 73, 68, 68]


def test_a_result_that_is_still_in_the_pipeline_is_waited_for() -> None:
    program = [instruction("matrix", 10, 30, ahead_cycles=10), instruction("element", 1, 5, 0)]
    scheduler = Scheduler(program)
    assert [scheduler.after_idle(idle).cycles for idle in (0, 10, 25, 40, 50)] == [46, 36, 21, 6, 6]


WIDTHS = st.integers(1, 300)
LAYERS = st.integers(1, 4)
TAPS = st.integers(1, 12)
QUICK = settings(max_examples=30, deadline=None)


@QUICK
@given(LAYERS, WIDTHS, TAPS, st.lists(st.integers(0, 3000), min_size=2, max_size=5))
def test_a_longer_pause_never_makes_a_request_slower(
    layers: int, width: int, taps: int, pauses: list[int]
) -> None:
    for builder in (cnn_step(layers, width, taps + 1), lstm_step(layers, width)):
        scheduler = compiled(builder).scheduler
        lengths = [scheduler.after_idle(idle).cycles for idle in sorted(pauses)]
        assert lengths == sorted(lengths, reverse=True)
        spaced_cycles, contiguous = (scheduler.after_idle(i).cycles for i in (None, 0))
        assert spaced_cycles <= lengths[-1] <= lengths[0] <= contiguous


@QUICK
@given(LAYERS, WIDTHS, st.integers(2, 9))
def test_a_batch_never_takes_longer_than_its_rows_in_turn(
    layers: int, width: int, batch: int
) -> None:
    for single_cycles, many in (
        (cnn_step(layers, width), cnn_step(layers, width, batch=batch)),
        (lstm_step(layers, width), lstm_step(layers, width, batch=batch)),
        (mlp(width, width, 8), mlp(width, width, 8, batch=batch)),
    ):
        for single, several in zip(cycles(single_cycles), cycles(many), strict=True):
            assert single <= several <= batch * single


CARD = replace(load_card("ia-420f"), tiles_per_core=64)
BOUND = CARD.release("sdk21")
FREE = CARD.release("sdk26")


def weights(*tiles: int, recurrent: bool = False) -> Lowered:
    """Matrices of so many tiles, one row block each."""
    matrices = tuple(Matrix(f"m{i}", 1, 32, (32 * count,)) for i, count in enumerate(tiles))
    steps = tuple(MatrixStep("step", i, (), (), recurrent) for i in range(len(tiles)))
    return Lowered("graph", matrices, steps, 0, 0, "")


@given(st.lists(st.integers(1, 100), max_size=12), st.booleans())
def test_all_tiles_are_placed_within_every_cores_memory(tiles: list[int], recurrent: bool) -> None:
    lowered_graph = weights(*tiles, recurrent=recurrent)
    if sum(tiles) > CARD.tiles:
        with pytest.raises(Unsupported, match=f"needs {sum(tiles)} tiles, the card has 384"):
            place(lowered_graph, CARD, BOUND)
        return
    placement = place(lowered_graph, CARD, BOUND)
    assert [sum(core_tiles) for core_tiles in placement.tiles] == tiles
    assert (placement.used, placement.total) == (sum(tiles), 384)
    assert all(sum(core) <= CARD.tiles_per_core for core in zip(*placement.tiles, strict=True))


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6))
def test_cores_are_filled_evenly(tiles: list[int]) -> None:
    placement = place(weights(*tiles), CARD, FREE)
    core_totals = [sum(core) for core in zip(*placement.tiles, strict=True)]
    assert max(core_totals) - min(core_totals) <= 1


def test_a_bound_layer_keeps_to_its_cores_and_the_next_takes_the_others() -> None:
    first, second = place(weights(30, 30, recurrent=True), CARD, BOUND).tiles
    assert sorted(first) == sorted(second) == [0, 0, 0, 10, 10, 10]
    assert all(a == 0 or b == 0 for a, b in zip(first, second, strict=True))


V80 = load_card("v80")


def with_memory(limit_bytes: int, external_bytes: int = 2**30, rate: float = 300.0) -> Card:
    """The V80 with so much memory for activations; the default rate is a byte a cycle."""
    assert V80.part is not None
    part = replace(
        V80.part,
        memory_bytes=V80.weight_bytes + limit_bytes,
        external_bytes=external_bytes,
        external_bytes_per_us=rate,
    )
    return replace(V80, part=part)


def image(size: int) -> ModelBuilder:
    """A convolution with ReLU: 64 channels from 3."""
    builder = ModelBuilder()
    x = builder.input("x", [1, 3, size, size])
    conv = builder.add("Conv", x, builder.weights(64, 3, 3, 3), pads=[1, 1, 1, 1])
    builder.output(builder.add("Relu", conv))
    return builder


def test_the_peak_is_what_a_step_reads_and_gives() -> None:
    """256 -> 384 -> ReLU -> 128 in bf16: the ReLU reads 768 bytes and gives as many."""
    assert compile_graph(mlp(256, 384, 128).graph(), V80).memory.peak_bytes == 768 + 768
    assert compile_graph(mlp(256, 384, 128, batch=4).graph(), V80).memory.peak_bytes == 4 * 1536
    wide = compile_graph(mlp(1024, 32).graph(), V80)
    assert wide.memory.peak_bytes == 2048 + 64


def test_held_state_stays_and_views_take_no_memory() -> None:
    """Two layers of 64 channels: 2 x 7 x 64 states, and what is new in the next states: the input
    and the first layer's output. Beside them the second convolution's output and the sum."""
    peak_bytes = compile_graph(cnn_step(2, 64).graph(), V80).memory.peak_bytes
    assert peak_bytes == 2 * (2 * 7 * 64 + 64 + 64 + 64 + 64)


def test_what_does_not_fit_the_chip_spills_and_costs_its_transfers() -> None:
    graph = mlp(256, 384, 128).graph()
    fitting_program, outside = (compile_graph(graph, with_memory(limit)) for limit in (1536, 1535))
    assert fitting_program.memory.spilled_bytes == 0
    # One of the two tensors of 768 bytes: written by one step, read by the next.
    assert outside.memory.spilled_bytes == 768
    assert sum(outside.memory.moved_bytes.values()) == 2 * 768
    cycles = [program.scheduler.after_idle(None).cycles for program in (fitting_program, outside)]
    assert cycles[1] - cycles[0] == 2 * 768
    assert latency_us(outside) - latency_us(fitting_program) == pytest.approx(2 * 768 / 300)
    assert fidelity(outside).word == "extrapolated"


def test_a_large_image_spills_on_the_v80_and_is_refused_where_no_memory_is_described() -> None:
    """64 x 1024 x 1024 bf16 numbers are 128 MiB."""
    graph = image(1024).graph()
    memory = compile_graph(graph, V80).memory
    assert memory.limit_bytes is not None
    assert memory.peak_bytes >= 2 * 128 * 2**20 > memory.limit_bytes
    assert memory.spilled_bytes >= 2 * 128 * 2**20
    with pytest.raises(Unsupported) as exc_info:
        compile_graph(graph, load_card("ia-420f"))
    assert str(memory.peak_bytes) in exc_info.value.cause
    assert exc_info.value.remedy


def test_memory_outside_the_chip_can_be_full_too() -> None:
    with pytest.raises(Unsupported, match="outside the chip"):
        compile_graph(image(64).graph(), with_memory(10_000, external_bytes=100_000))
