"""The search against every configuration in turn, and what it says of a target out of reach."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from runtimes.errors import Unsupported
from runtimes.fpga.card.compiler import compile_lowered
from runtimes.fpga.card.timing import jitter_us, latency_us
from runtimes.fpga.cards import Card, CardError, card_keys, load_card
from runtimes.fpga.graph.graph import Graph
from runtimes.fpga.lower import lower
from runtimes.fpga.sizing import Configuration, search
from tests.runtimes.fpga.graphs import ModelBuilder, cnn_step, lstm_step, mlp

CARDS = [load_card(key) for key in card_keys()]
CHUNK = 8
SEEDS = [
    pytest.param(seed, marks=[pytest.mark.rare] if seed >= CHUNK else []) for seed in range(200)
]

Key = tuple[int, int, float, int]


def every_configuration(public: Card) -> Iterator[Card]:
    clocks = [mhz for mhz in range(100, 1000, 25) if mhz < public.clock_mhz]
    for cores in range(1, 17):
        for block in (16, 32, 64, 128):
            store = public.cores * public.tiles_per_core * public.block**2
            tiles = store // block**2 // cores
            for mhz in (*clocks, public.clock_mhz):
                yield replace(
                    public,
                    cores=cores,
                    block=block,
                    tiles_per_core=tiles,
                    clock_mhz=float(mhz),
                )


def brute_force(graph: Graph, release: str, idle_us: float) -> list[tuple[Key, float]]:
    """The order and the p99 of all that fit, each compiled by itself."""
    timings = []
    lowered_graph = lower(graph)
    for public in CARDS:
        part = public.part
        assert part is not None
        for card in every_configuration(public):
            products = card.cores * card.block**2
            if products > part.dsp_blocks * part.multiplications_per_dsp:
                continue
            try:
                program = compile_lowered(lowered_graph, card, release)
            except Unsupported:
                continue
            p99 = latency_us(program, idle_us) + jitter_us(program) * (math.log(100) - 1)
            timings.append(((part.dsp_blocks, products, card.clock_mhz, card.cores), round(p99, 6)))
    return sorted(timings)


def key_of(configuration: Configuration) -> Key:
    part = load_card(configuration.card).part
    assert part is not None
    return (
        part.dsp_blocks,
        configuration.cores * configuration.block**2,
        configuration.clock_mhz,
        configuration.cores,
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_search_equals_brute_force(seed: int) -> None:
    draw = random.Random(seed)
    graph = random_graph(seed)
    release, idle_us = draw.choice(("", "sdk27")), draw.choice((0.0, math.inf))
    timings = brute_force(graph, release, idle_us)
    target_us = draw.choice(timings)[1]
    result = search(lower(graph), CARDS, target_us, release, idle_us)
    assert result.tried == len(timings)
    assert result.smallest is not None
    meeting = [(key, us) for key, us in timings if us <= target_us]
    assert (key_of(result.smallest), result.smallest.p99_us) == min(meeting)
    curve = [
        (key, us)
        for number, (key, us) in enumerate(timings)
        if all(us < smaller for _, smaller in timings[:number])
    ]
    assert [(key_of(point), point.p99_us) for point in result.curve] == curve


def test_a_target_below_every_configuration_has_the_curve_and_no_smallest() -> None:
    result = search(lower(cnn_step(3, 128).graph()), CARDS, 0.5)
    assert result.smallest is None
    assert min(point.p99_us for point in result.curve) > 0.5


def test_the_public_design_alone_is_calibrated() -> None:
    result = search(lower(cnn_step(3, 128).graph()), [load_card("v80")], 2.7)
    for point in result.curve:
        public = (point.cores, point.block, point.clock_mhz) == (6, 32, 300)
        assert (point.fidelity == "calibrated") == public
        assert public == (point.fidelity_reason == "")


def test_what_fits_no_card_at_any_size_is_refused() -> None:
    with pytest.raises(Unsupported, match="tiles"):
        search(lower(lstm_step(3, 960).graph()), [load_card("ia-420f")], 10.0)


def test_a_card_without_a_part_has_no_size() -> None:
    with pytest.raises(CardError) as exc_info:
        search(lower(mlp(32, 32).graph()), [replace(CARDS[0], part=None)], 10.0)
    assert "[part]" in exc_info.value.remedy


_ACTIVATIONS = ("Relu", "Sigmoid", "Tanh", "Erf")


def random_graph(seed: int, least_nodes: int = 5, most_nodes: int = 50) -> Graph:
    """A graph with as many nodes as drawn, of vectors with 8 to 512 elements."""
    draw = random.Random(seed)
    builder = ModelBuilder(f"random {seed}")
    batch = draw.choice((1, 1, 1, 2, 8))
    width = draw.choice((8, 32, 100, 256))
    x = builder.input("x", [batch, width])
    same_width = [x]
    nodes = draw.randint(least_nodes, most_nodes)
    if draw.random() < 0.5:
        state = builder.input("s", [batch, width])
        following = builder.add("Tanh", builder.add("Add", x, state))
        x = builder.add("Add", following, state)
        builder.states.append(("s", following))
    while len(builder.nodes) < nodes:
        kind = draw.choice(("dense", "dense", "activation", "activation", "residual", "softmax"))
        if kind == "dense":
            following_width = draw.choice((8, 32, 100, 256, 512))
            x = builder.add("Gemm", x, builder.weights(width, following_width))
            if following_width != width:
                same_width = []
            width = following_width
        elif kind == "activation":
            x = builder.add(draw.choice(_ACTIVATIONS), x)
        elif kind == "residual" and same_width:
            x = builder.add("Add", x, draw.choice(same_width))
        elif kind == "softmax":
            x = builder.add("Softmax", x, axis=1)
        same_width.append(x)
    builder.output(x)
    for _, output in builder.states:
        builder.output(output)
    return builder.graph()
