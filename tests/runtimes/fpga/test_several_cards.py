"""Several equal cards for one model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from runtimes.execution import AfterCompletion, Queries, Scheduled
from runtimes.fpga.card.compiler import compile_graph
from runtimes.fpga.card.timing import latency_us, simulate
from runtimes.fpga.cards import load_card
from tests.runtimes.fpga.graphs import mlp

V80 = load_card("v80")
STILL = replace(V80, jitter_us=0.0)


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
