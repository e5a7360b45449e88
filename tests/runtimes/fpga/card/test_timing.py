"""Latencies and transfers from arrivals, and how well they meet the published tables."""

from __future__ import annotations

import csv
import math
from dataclasses import replace

import numpy as np
import pytest

from runtimes.errors import Unsupported
from runtimes.execution import AfterCompletion, Queries, Scheduled
from runtimes.fpga.card.compiler import Compiled, compile_graph
from runtimes.fpga.card.timing import (
    Stages,
    fidelity,
    hidden_us,
    idle_cycles,
    io_us,
    jitter_us,
    latency_us,
    overlapped,
    simulate,
    stages,
    transfer,
)
from runtimes.fpga.cards import Card, Transfer, card_keys, link_table, load_card
from tests.checkout import ROOT
from tests.runtimes.fpga import predictions, published
from tests.runtimes.fpga.graphs import ModelBuilder, cnn_step, lstm_step, mlp
from tests.runtimes.fpga.published import (
    Predicted,
    Row,
    fit,
    fits_table,
    predict,
    read_rows,
    table,
)

V80 = load_card("v80")
STILL = replace(V80, jitter_us=0.0)


def compiled(builder: ModelBuilder, card: Card = STILL, release: str = "") -> Compiled:
    return compile_graph(builder.graph(), card, release)


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_the_link_turns_to_dma_beyond_the_register_bytes() -> None:
    card = load_card("ia-420f")
    small, large = (compiled(mlp(width, 32), card) for width in (128, 129))
    release = card.release()
    assert io_us(small) == release.io_us
    assert io_us(large) == pytest.approx(release.io_us + release.dma_us)


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


def test_calibrated_is_a_claim_about_release_family_pace_and_size() -> None:
    def word(builder: ModelBuilder, release: str, idle_us: float = math.inf) -> str:
        return fidelity(compile_graph(builder.graph(), V80, release), idle_us).word

    cnn, lstm = cnn_step(3, 128), lstm_step(2, 128)
    for builder, release in ((cnn, "sdk26"), (cnn_step(5, 200), "sdk26"), (lstm, "sdk25")):
        assert word(builder, release) == "calibrated"
    assert word(cnn, "sdk26", idle_us=0.0) == "extrapolated"
    for release in ("sdk25", "sdk27"):
        assert word(cnn, release) == "extrapolated"
    for builder in (
        lstm,
        mlp(256, 256),
        mlp(2000, 32),
        cnn_step(50, 32),
        cnn_step(3, 128, batch=2),
    ):
        assert word(builder, "sdk26") == "extrapolated"
    assert "no table" in fidelity(compiled(cnn, replace(V80, cores=12))).reason
    assert "2048 bytes" in fidelity(compiled(mlp(2000, 32), V80)).reason


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


def test_rows_that_arrive_while_the_first_product_issues_cost_nothing() -> None:
    """8 rows of 512 bytes: 2048 bytes beyond the calibrated ones take 0.065 us each way. The
    product of 64 tiles issues 8 x 11 cycles at 300 MHz, 0.257 us of them after the first row."""
    single_program, eight = (compiled(mlp(256, 256)), compiled(mlp(256, 256, batch=8)))
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
    program = compiled(made, release=release)
    parts = stages(program)
    one_us = parts.input_us + parts.compute_us + parts.output_us
    assert one_us == pytest.approx(latency_us(program, 0.0))
    still = replace(program, card=STILL)
    finish_ns = simulate(still, Queries(1, 1000), rng()).finished_ns
    slowest_us = max(parts.input_us, parts.compute_us, parts.output_us)
    interval_us = (finish_ns[-1] - finish_ns[99]) / 900 / 1e3
    assert interval_us == pytest.approx(slowest_us, rel=0.01)
    assert interval_us < one_us


def test_equal_cards_answer_arrivals_at_once_and_one_request_no_faster() -> None:
    program = compile_graph(mlp(256, 384, 128).graph(), STILL)
    times = Scheduled(np.array([0, 0, 0]))
    one_ns = round(latency_us(program) * 1e3)
    rng = np.random.default_rng(1)
    assert simulate(program, times, rng).finished_ns.tolist() == [one_ns, 2 * one_ns, 3 * one_ns]
    assert simulate(program, times, rng, 2).finished_ns.tolist() == [one_ns, one_ns, 2 * one_ns]
    loops = [simulate(program, AfterCompletion(3), rng, cards).finished_ns for cards in (1, 2)]
    assert loops[0].tolist() == loops[1].tolist()


ROWS = read_rows()


def label(row: Row) -> str:
    return f"{row.model}-{row.card}"


@pytest.fixture(scope="module")
def predicted() -> list[Predicted]:
    return [predict(row) for row in ROWS if row.fits]


def test_errors_are_on_average_three_per_cent_and_at_most_six_of_means_and_ten_of_p99s(
    predicted: list[Predicted],
) -> None:
    assert len(predicted) == 20
    means, p99s = (
        np.abs([getattr(p, name) for p in predicted]) for name in ("mean_error", "p99_error")
    )
    assert means.mean() <= 3 and means.max() <= 6
    assert p99s.mean() <= 3 and p99s.max() <= 10


@pytest.mark.parametrize("row", ROWS, ids=label)
def test_the_capacity_rule_decides_what_fits(row: Row) -> None:
    if row.fits:
        assert fidelity(row.compile()).word == "calibrated"
    else:
        with pytest.raises(Unsupported, match=r"needs \d+ tiles, the card has \d+"):
            row.compile()


def test_constants_in_the_card_files_are_the_fit_of_the_tables(predicted: list[Predicted]) -> None:
    v80, big, small = (load_card(key) for key in ("v80", "ia-840f", "ia-420f"))
    releases = [card.release(name) for card in (big, small) for name in ("sdk21", "sdk26")]
    io_constants = [v80.release("sdk25").io_us, v80.release("sdk26").io_us]
    assert len({(r.io_us, r.dma_us) for r in releases}) == 1
    assert fit(predicted) == pytest.approx(
        [*io_constants, releases[0].io_us, releases[0].dma_us], abs=5.1e-4
    )
    for card in (v80, big, small):
        assert card.jitter_us == pytest.approx(published.jitter_us(predicted), abs=2e-4)


def test_the_readme_shows_these_very_figures(predicted: list[Predicted]) -> None:
    page = (ROOT / "runtimes/fpga/README.md").read_text("utf-8")
    assert table(predicted) in page
    assert fits_table(predicted) in page


def test_the_predictions_are_those_of_the_model() -> None:
    """Of the networks that need no torch; those of the others are made by the same command."""
    written_rows = [
        tuple(row.values())
        for row in csv.DictReader(predictions.FILE.read_text("utf-8").splitlines())
    ]
    for network in (*predictions.table_networks(), *predictions.batches()):
        predicted_rows = list(predictions.rows([network]))
        assert [
            row for row in written_rows if row[:2] == (network[0], str(network[1]))
        ] == predicted_rows
