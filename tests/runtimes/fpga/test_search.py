"""The search against every configuration in turn, and what `python -m runtimes.fpga` tells."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest

from runtimes.errors import Unsupported
from runtimes.fpga.__main__ import main
from runtimes.fpga.card.compiler import compile_lowered
from runtimes.fpga.card.timing import jitter_us, latency_us
from runtimes.fpga.cards import Card, CardError, card_keys, load_card
from runtimes.fpga.graph.graph import Graph
from runtimes.fpga.lower import lower
from runtimes.fpga.sizing import Configuration, search
from tests.processes import python
from tests.runtimes.fpga.graphs import cnn_step, lstm_step, mlp

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
                    public, cores=cores, block=block, tiles_per_core=tiles, clock_mhz=float(mhz)
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


def test_what_fits_no_card_at_any_size_is_refused() -> None:
    with pytest.raises(Unsupported, match="tiles"):
        search(lower(lstm_step(3, 960).graph()), [load_card("ia-420f")], 10.0)


def test_a_card_without_a_part_has_no_size() -> None:
    with pytest.raises(CardError) as exc_info:
        search(lower(mlp(32, 32).graph()), [replace(CARDS[0], part=None)], 10.0)
    assert "[part]" in exc_info.value.remedy


def random_graph(seed: int) -> Graph:
    """One of the three forms in a drawn size, as one request or a batch."""
    draw = random.Random(seed)
    layers, batch = draw.randint(1, 8), draw.choice((1, 1, 2, 8))
    width = draw.choice((8, 32, 100, 256))
    if draw.random() < 0.5:
        return mlp(*draw.choices((8, 32, 100, 256, 512), k=layers + 1), batch=batch).graph()
    return draw.choice((cnn_step, lstm_step))(layers, width, batch=batch).graph()


@pytest.fixture
def step(tmp_path: Path) -> str:
    path = tmp_path / "step.onnx"
    onnx.save(cnn_step(3, 128).model(), path)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["explain", *arguments])
    captured_text = capsys.readouterr()
    return status, captured_text.out, captured_text.err


def test_all_that_decides_the_latency_is_told(
    step: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text, _ = run(capsys, step, "--card", "v80@sdk26")
    assert status == 0
    # 3 layers x (16 tiles / 6 cores + 32 + 1 + 25) cycles; 8 taps are 128 tiles a layer.
    for expected_text in (
        "384 of 24576 tiles",
        "256 bytes in, 256 out",
        r"spaced +2\.425 us, 183 cycles",
        r"contiguous +2\.615 us, 240 cycles",
        "ahead +57 cycles",
        "fidelity +calibrated",
        "critical path: 183 cycles over 6 instructions",
        r"Conv_2 +matrix +128 +19 +3 +32 +0 +35",
    ):
        assert re.search(expected_text, text), expected_text
    assert len(re.findall(r"^ +\d +64 +4\.8%$", text, re.MULTILINE)) == 6


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--card", "v8"], "no card 'v8'; the nearest is 'v80'"),
        (["--card", "v80@sdk9"], "no release 'sdk9'"),
        (["--card", "none.toml"], "none.toml can't be read"),
        (["--axis", "batch"], "--axis batch sets nothing: write --axis NAME=SIZE"),
        (["--axis", "batch=0"], "--axis batch=0 sets nothing"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    step: str, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    status, out, err = run(capsys, step, *arguments)
    assert (status, out) == (1, "")
    assert told in err
    assert err.count("\n") == 1


def test_the_schedule_is_the_one_that_is_explained(step: str) -> None:
    """In a process of its own, which steps back behind all others."""
    states = [list(pair) for pair in cnn_step(3, 128).states]
    subject = {"model": "cnn_small", "path": step, "axes": {}, "states": states, "card": "v80"}
    question: dict[str, Any] = {**subject, "release": "", "options": {}, "gap_us": 20.0}
    lines = "".join(
        f"{json.dumps(question | more)}\n" for more in ({}, {"options": {"tiles": "10"}})
    )
    process = python("-m", "runtimes.fpga", "schedule", "--json", check=True, input=lines)
    assert process.stderr == ""
    answer, refusal = map(json.loads, process.stdout.splitlines())
    # As `explain` tells of the same graph: 183 cycles after a pause, 384 of 24,576 tiles.
    assert (answer["model"], answer["card"], answer["release"]) == ("cnn_small", "V80", "sdk26")
    assert (answer["cycles"], answer["io_us"]) == (183, pytest.approx(1.815))
    assert (answer["tiles_used"], answer["tiles_total"]) == (384, 24576)
    assert sum(answer["tiles_by_core"]) == 384
    assert answer["fidelity"] == "calibrated"
    assert len(answer["events"]) == 6
    assert max(event["done"] for event in answer["events"]) == 183
    assert refusal.keys() == {"problem"}
    assert "needs 384 tiles, the card has" in refusal["problem"]["cause"]
