"""Transfers that overlap with computing: within a batch, and between requests."""

from __future__ import annotations

import csv
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from runtimes.execution import AfterCompletion, Queries, Scheduled
from runtimes.fpga.card.compiler import Compiled, compile_graph
from runtimes.fpga.card.timing import (
    Stages,
    hidden_us,
    io_us,
    latency_us,
    overlapped,
    simulate,
    stages,
)
from runtimes.fpga.cards import Card, load_card
from tests.runtimes.fpga.graphs import ModelBuilder, cnn_step, lstm_step, mlp
from tests.runtimes.fpga.published import read_rows

V80 = load_card("v80")
STILL = replace(V80, jitter_us=0.0)


def compiled(builder: ModelBuilder, release: str = "", card: Card = STILL) -> Compiled:
    return compile_graph(builder.graph(), card, release)


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_nothing_overlaps_in_the_published_figures() -> None:
    for row in read_rows():
        if row.fits:
            assert hidden_us(row.compile()) == 0.0


def test_both_directions_of_the_published_transfers_add_up() -> None:
    """No row of the table leaves the card while another arrives: the page says what follows."""
    with (files("runtimes.fpga.cards") / "link_sdk27.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    times_us = {
        (row["mode"], int(row["input_bytes"]), int(row["output_bytes"])): float(row["mean_us"])
        for row in rows
    }
    shares = []
    for (mode, inputs, outputs), time_us in times_us.items():
        empty_us = times_us[mode, 64, 64]
        if min(inputs, outputs) >= 2048:
            alone_us = times_us[mode, inputs, 64] + times_us[mode, 64, outputs] - 2 * empty_us
            shares.append((time_us - empty_us) / alone_us)
    assert len(shares) == 48
    # Had they passed at once, equal sizes would take half of the sum.
    assert min(shares) > 0.75
    assert 0.97 < float(np.median(shares)) < 1.03


def test_rows_that_arrive_while_the_first_product_issues_cost_nothing() -> None:
    """8 rows of 512 bytes: 2048 bytes beyond the calibrated ones take 0.065 us each way. The
    product of 64 tiles issues 8 x 11 cycles at 300 MHz, 0.257 us of them after the first row."""
    single_program, eight = compiled(mlp(256, 256)), compiled(mlp(256, 256, batch=8))
    assert hidden_us(eight) == pytest.approx(2 * 2048 / 31_500)
    assert io_us(eight) == pytest.approx(io_us(single_program))


def test_rows_that_arrive_later_are_waited_for() -> None:
    """2 rows of 8192 bytes: the second takes 0.26 us, and the first is computed in 22 cycles."""
    two = compiled(mlp(4096, 32, batch=2))
    assert hidden_us(two) == pytest.approx(22 / 300)
    beyond_us = (2 * 8192 - 2048) / 31_500
    assert io_us(two) == pytest.approx(V80.release().io_us + beyond_us - 22 / 300)


@pytest.mark.parametrize(
    ("parts", "started", "finished"),
    [
        (Stages(1, 2, 1), [0, 1000, 3000, 5000], [4000, 6000, 8000, 10_000]),
        (Stages(3, 1, 1), [0, 3000, 6000, 9000], [5000, 8000, 11_000, 14_000]),
        # The third is computed once the first output buffer is free, at 5; the fourth at 8.
        (Stages(1, 1, 3), [0, 1000, 2000, 5000], [5000, 8000, 11_000, 14_000]),
    ],
)
def test_requests_overlap_as_two_buffers_allow(
    parts: Stages, started: list[int], finished: list[int]
) -> None:
    start_times, answer_times = overlapped(parts, 4)
    assert (start_times.tolist(), answer_times.tolist()) == (started, finished)


@pytest.mark.parametrize(
    "made", [cnn_step(3, 256), lstm_step(2, 128), mlp(256, 384, 128, batch=16)]
)
@pytest.mark.parametrize("release", ["sdk26", "sdk27"])
def test_throughput_is_that_of_the_slowest_part(made: ModelBuilder, release: str) -> None:
    program = compiled(made, release)
    parts = stages(program)
    one_us = parts.input_us + parts.compute_us + parts.output_us
    assert one_us == pytest.approx(latency_us(program, 0.0))
    still = replace(program, card=STILL)
    finish_ns = simulate(still, Queries(1, 1000), rng()).finished_ns
    slowest_us = max(parts.input_us, parts.compute_us, parts.output_us)
    interval_us = (finish_ns[-1] - finish_ns[99]) / 900 / 1e3
    assert interval_us == pytest.approx(slowest_us, rel=0.01)
    assert interval_us < one_us


def test_answers_come_in_order_and_queries_after_each_other() -> None:
    program = compile_graph(cnn_step(3, 128).graph(), V80)
    samples = simulate(program, Queries(50, 8), rng())
    by_query = samples.finished_ns.reshape(50, 8)
    assert (np.diff(by_query, axis=1) >= 0).all()
    assert (samples.started_ns.reshape(50, 8)[1:, 0] == by_query[:-1, -1]).all()
    assert samples.clock == "simulated"


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
