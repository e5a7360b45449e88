"""Several models on one card by core, and several equal cards for one model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from runtimes.errors import Unsupported
from runtimes.execution import AfterCompletion, Queries, Scheduled
from runtimes.fpga.card.compiler import compile_graph
from runtimes.fpga.card.timing import latency_us, simulate, stages
from runtimes.fpga.cards import load_card
from runtimes.fpga.lower import lower
from runtimes.fpga.lower.steps import Lowered
from runtimes.fpga.sizing import share
from tests.runtimes.fpga.graphs import cnn_step, lstm_step, mlp

V80 = load_card("v80")
STILL = replace(V80, jitter_us=0.0)


def small() -> Lowered:
    return lower(cnn_step(3, 128).graph())


def test_each_model_is_as_fast_as_on_a_card_with_its_cores() -> None:
    models = [("first", small(), 4), ("second", lower(mlp(256, 384).graph()), 2)]
    first, second = share(models, V80)
    alone = compile_graph(cnn_step(3, 128).graph(), replace(V80, cores=4))
    other = compile_graph(mlp(256, 384).graph(), replace(V80, cores=2))
    assert first.mean_us == pytest.approx(latency_us(alone), abs=1e-6)
    assert (first.tiles_total, second.tiles_total) == (4 * 4096, 2 * 4096)
    parts = stages(other)
    waited_us = parts.input_us + parts.output_us
    assert first.contended_us == pytest.approx(latency_us(alone) + waited_us, abs=2e-6)


def test_more_cores_than_there_are_are_refused() -> None:
    with pytest.raises(Unsupported, match="need 7 cores"):
        share([("a", small(), 4), ("b", small(), 3)], V80)


def test_a_model_that_does_not_fit_its_cores_is_named() -> None:
    large = lower(lstm_step(3, 256).graph())
    card = load_card("ia-420f")
    share([("large", large, 4), ("tiny", small(), 2)], card)
    with pytest.raises(Unsupported, match=r"large on 2 cores needs 1544 tiles, the card has 1024"):
        share([("large", large, 2), ("tiny", small(), 4)], card)


def test_activations_of_all_models_share_one_memory() -> None:
    assert V80.part is not None
    part = replace(V80.part, memory_bytes=V80.weight_bytes + 10_000)
    card = replace(V80, part=part)
    share([("a", small(), 3)], card)
    with pytest.raises(Unsupported, match="all models"):
        share([("a", small(), 3), ("b", small(), 3)], card)


def test_equal_cards_divide_a_query() -> None:
    program = compile_graph(mlp(256, 384, 128).graph(), STILL)
    ends = [
        int(simulate(program, Queries(1, 1200), np.random.default_rng(1), cards).finished_ns[-1])
        for cards in (1, 2, 3)
    ]
    assert ends[0] / ends[1] == pytest.approx(2, rel=0.01)
    assert ends[0] / ends[2] == pytest.approx(3, rel=0.01)


def test_equal_cards_answer_arrivals_at_once_and_one_request_no_faster() -> None:
    program = compile_graph(mlp(256, 384, 128).graph(), STILL)
    times = Scheduled(np.array([0, 0, 0]))
    one_ns = round(latency_us(program) * 1e3)
    rng = np.random.default_rng(1)
    assert simulate(program, times, rng).finished_ns.tolist() == [one_ns, 2 * one_ns, 3 * one_ns]
    assert simulate(program, times, rng, 2).finished_ns.tolist() == [one_ns, one_ns, 2 * one_ns]
    loops = [simulate(program, AfterCompletion(3), rng, cards).finished_ns for cards in (1, 2)]
    assert loops[0].tolist() == loops[1].tolist()
