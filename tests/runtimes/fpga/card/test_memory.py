"""Activations: how much is held at once, what spills and what that costs, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from runtimes.errors import Unsupported
from runtimes.fpga.card.compiler import compile_graph
from runtimes.fpga.card.timing import fidelity, latency_us
from runtimes.fpga.cards import Card, load_card
from tests.runtimes.fpga.graphs import ModelBuilder, cnn_step, mlp
from tests.runtimes.fpga.published import read_rows

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


def test_every_published_model_fits() -> None:
    for row in read_rows():
        if row.fits:
            assert row.compile().memory.spilled_bytes == 0


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


def test_without_a_part_the_limit_is_unknown() -> None:
    memory = compile_graph(image(64).graph(), replace(V80, part=None)).memory
    assert (memory.limit_bytes, memory.spilled_bytes) == (None, 0)


def test_work_ahead_of_spilled_state_is_counted() -> None:
    graph = cnn_step(2, 64).graph()
    all_spilled = compile_graph(graph, with_memory(0))
    fits = compile_graph(graph, V80)
    assert latency_us(all_spilled, 0.0) > latency_us(fits, 0.0)
    assert latency_us(all_spilled, math.inf) > latency_us(fits, math.inf)
