"""Latencies from arrivals: what a spaced, a back-to-back and a queueing user would see."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from runtimes.execution import AfterCompletion, Scheduled
from runtimes.fpga.card.compiler import Compiled, compile_graph
from runtimes.fpga.card.timing import (
    fidelity,
    idle_cycles,
    io_us,
    jitter_us,
    latency_us,
    simulate,
    transfer,
)
from runtimes.fpga.cards import Card, card_keys, load_card
from runtimes.fpga.cards.datasheet import Transfer, link_table
from tests.runtimes.fpga.graphs import ModelBuilder, cnn_step, lstm_step, mlp

V80 = load_card("v80")
STILL = replace(V80, jitter_us=0.0)


def compiled(builder: ModelBuilder, card: Card = STILL) -> Compiled:
    return compile_graph(builder.graph(), card)


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_the_link_turns_to_dma_beyond_the_register_bytes() -> None:
    card = load_card("ia-420f")
    small, large = (compiled(mlp(width, 32), card) for width in (128, 129))
    release = card.release()
    assert io_us(small) == release.io_us
    assert io_us(large) == pytest.approx(release.io_us + release.dma_us)


def test_large_transfers_take_the_links_rate() -> None:
    plain, large_program = compiled(mlp(1024, 32)), compiled(mlp(1024 + 31_500, 32))
    assert io_us(plain) == V80.release().io_us
    assert io_us(large_program) - io_us(plain) == pytest.approx(2.0)


@pytest.mark.parametrize("made", [cnn_step(3, 128), lstm_step(2, 128)])
def test_spaced_and_contiguous_are_the_ends_of_one_scale(made: ModelBuilder) -> None:
    program = compiled(made)
    gaps_ns = (0, 50, 100, 200, 20_000)
    latencies = [
        int(simulate(program, AfterCompletion(3, gap), rng()).latency_ns[0]) for gap in gaps_ns
    ]
    assert latencies == sorted(latencies, reverse=True)
    assert latencies[0] == round(latency_us(program, 0) * 1e3)
    assert latencies[-1] == round(latency_us(program, math.inf) * 1e3)
    assert latencies[0] > latencies[1] > latencies[-1]


@pytest.mark.parametrize("hundredths", [7, 14, 28, 29, 57, 58])
def test_a_pause_is_counted_in_whole_cycles(hundredths: int) -> None:
    """As floats, 0.29 us x 100 MHz is 28.999999999999996."""
    program = compiled(lstm_step(2, 256), replace(STILL, clock_mhz=100.0))
    assert program.scheduler.ahead_cycles > hundredths
    assert idle_cycles(program, hundredths / 100) == hundredths
    assert idle_cycles(program, hundredths / 100 - 0.001) == hundredths - 1
    assert idle_cycles(program, -1.0) == 0
    assert idle_cycles(program, math.inf) == program.scheduler.ahead_cycles


def test_a_closed_loop_keeps_its_gap() -> None:
    samples = simulate(compiled(cnn_step(2, 64), V80), AfterCompletion(100, 500), rng())
    assert samples.clock == "simulated"
    assert (samples.started_ns[1:] - samples.finished_ns[:-1] == 500).all()
    assert (samples.scheduled_ns == samples.started_ns).all()
    assert samples.started_ns[0] == 0


def test_jitter_moves_the_percentiles_and_not_the_mean() -> None:
    program = compiled(cnn_step(2, 64), V80)
    latency_ns = simulate(program, AfterCompletion(200_000, 20_000), rng()).latency_ns
    mean_us = latency_us(program)
    assert latency_ns.mean() / 1e3 == pytest.approx(mean_us, abs=1e-3)
    assert np.percentile(latency_ns, 99) / 1e3 - mean_us == pytest.approx(0.175, abs=5e-3)
    assert latency_ns.min() / 1e3 == pytest.approx(mean_us - V80.jitter_us, abs=2e-3)


def test_scheduled_requests_wait_for_the_one_before() -> None:
    program = compiled(lstm_step(2, 128))
    spaced_ns, contiguous = (round(latency_us(program, idle) * 1e3) for idle in (math.inf, 0))
    times = np.array([0, 10, 100_000, 100_000 + spaced_ns + 60])
    samples = simulate(program, Scheduled(times), rng())
    middle_ns = round(latency_us(program, 0.06) * 1e3)
    assert samples.latency_ns.tolist() == [spaced_ns, contiguous, spaced_ns, middle_ns]
    assert samples.started_ns.tolist() == [0, spaced_ns, 100_000, 100_000 + spaced_ns + 60]
    assert samples.scheduled_ns.tolist() == times.tolist()
    assert contiguous > middle_ns > spaced_ns


def test_fidelity_says_why() -> None:
    assert "2048 bytes" in fidelity(compiled(mlp(2000, 32), V80)).reason
    assert "no table" in fidelity(compiled(cnn_step(3, 128), replace(V80, cores=12))).reason
    assert fidelity(compiled(cnn_step(3, 128, batch=2), V80)).word == "extrapolated"


def test_calibrated_is_a_claim_about_release_family_pace_and_size() -> None:
    def word(builder: ModelBuilder, release: str, idle_us: float = math.inf) -> str:
        return fidelity(compile_graph(builder.graph(), V80, release), idle_us).word

    assert word(cnn_step(3, 128), "sdk26") == "calibrated"
    assert word(cnn_step(5, 200), "sdk26") == "calibrated"
    assert word(cnn_step(3, 128), "sdk26", idle_us=0.0) == "extrapolated"
    assert word(cnn_step(3, 128), "sdk25") == "extrapolated"
    assert word(cnn_step(3, 128), "sdk27") == "extrapolated"
    assert word(lstm_step(2, 128), "sdk26") == "extrapolated"
    assert word(lstm_step(2, 128), "sdk25") == "calibrated"
    assert word(mlp(256, 256), "sdk26") == "extrapolated"
    assert word(cnn_step(50, 32), "sdk26") == "extrapolated"


def test_the_distance_to_the_nearest_published_model_is_part_of_the_reason() -> None:
    reason = fidelity(compile_graph(cnn_step(12, 512).graph(), V80, "sdk26")).reason
    assert re.findall(r"[\d.]+", reason) == ["12", "2", "512", "2"]


def test_a_release_that_does_not_work_ahead_is_as_fast_at_any_pace() -> None:
    card = load_card("ia-840f")
    older, newer = (compile_graph(lstm_step(2, 128).graph(), card, r) for r in ("sdk21", "sdk26"))
    assert latency_us(older, 0.0) == latency_us(older) == latency_us(newer, 0.0)
    assert latency_us(newer) < latency_us(newer, 0.0)


@pytest.mark.parametrize("key", card_keys())
def test_at_sdk27_the_link_is_the_published_table(key: str) -> None:
    card = load_card(key)
    release = card.release("sdk27")
    small = compile_graph(mlp(128, 128).graph(), card, "sdk27")
    assert io_us(small) - release.io_us == pytest.approx(0.91)  # MMIO, 256 bytes in and out
    assert transfer(small) == Transfer("register writes", 0.91, 0.93)
    p99_margin_us = 3.605 * jitter_us(small)
    assert p99_margin_us == pytest.approx(0.02, abs=1e-3)


def test_the_way_over_the_link_follows_from_the_sizes() -> None:
    table = link_table("sdk27")
    assert table.transfer(8192, 8192) == Transfer("register writes", 2.49, 2.50)
    assert table.transfer(16384, 64) == Transfer("DMA", 2.77, 2.92)
    middle_us = table.transfer(256, 720).mean_us
    assert 0.94 < middle_us < 1.01
    assert table.transfer(1, 1).mean_us == 0.89
    # Beyond the table at the rate of its last two sizes.
    far_us = table.transfer(2 * 16384, 64)
    assert far_us.mean_us == pytest.approx(2.77 + 2 * (2.77 - 2.15))
    assert far_us.p99_us - far_us.mean_us == pytest.approx(2.92 - 2.77)
