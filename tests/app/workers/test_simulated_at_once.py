"""A simulated card takes one request after another: queries of several, and all of them at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.cases.round import latency_ns
from app.cases.scenario import Scenario
from app.workers import simulated_round
from exporters.diagnostics.catalogue import codes
from runtimes.base import Session
from runtimes.execution import Arrivals, Samples
from runtimes.fpga.card.compiler import Compiled
from runtimes.fpga.card.timing import latency_us, simulate
from tests.app.workers.conftest import SHORT, Measure
from tests.runtimes.fpga.card.test_timing import compiled
from tests.runtimes.fpga.graphs import cnn_step


class OfCard(Session):
    def __init__(self, card: Compiled) -> None:
        self._card = card

    def simulate(self, arrivals: Arrivals, rng: np.random.Generator) -> Samples:
        return simulate(self._card, arrivals, rng)

    def close(self) -> None: ...


def test_queries_overlap_and_follow_each_other(measure: Measure, tmp_path: Path) -> None:
    single, runs, _ = measure("fpga", limits=replace(SHORT, simulated_samples=400))
    if single.status == "unavailable":
        pytest.skip(single.reason)
    result, queries, _ = measure(
        "fpga",
        scenario="multistream:4",
        limits=replace(SHORT, simulated_samples=100),
        samples=tmp_path / "queries.bin",
    )
    assert (result.status, result.iterations) == ("ok", 100)
    one_ns, four_ns = latency_ns(runs).mean(), latency_ns(queries).mean()
    assert one_ns < four_ns < 4 * one_ns
    assert (queries["started_ns"][1:] == queries["finished_ns"][:-1]).all()


def test_all_at_once_is_one_query(measure: Measure, tmp_path: Path) -> None:
    limits = replace(SHORT, simulated_samples=200)
    single, runs, _ = measure("fpga", limits=limits)
    if single.status == "unavailable":
        pytest.skip(single.reason)
    result, block, _ = measure(
        "fpga", scenario="offline", limits=limits, samples=tmp_path / "block.bin"
    )
    assert block["finished_ns"][-1] < runs["finished_ns"][-1]
    assert (np.diff(block["finished_ns"]) >= 0).all()
    assert set(block["scheduled_ns"]) == {runs["started_ns"][0]}
    assert result.facts["fidelity"] == "extrapolated"


def test_more_queries_than_are_simulated_in_one_go_follow_each_other_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(simulated_round, "MAXIMUM_RUNS", 10)
    card = compiled(cnn_step(2, 64))
    scenario, rng = Scenario.parse("multistream:3"), np.random.default_rng(1)
    samples = simulated_round.simulate_at_once(OfCard(card), scenario, 8, rng)
    (taken_ns,) = set(samples.latency_ns.tolist())
    one_ns = round(latency_us(card, 0) * 1e3)
    assert one_ns < taken_ns < 3 * one_ns
    assert (samples.started_ns[1:] == samples.finished_ns[:-1]).all()


def test_a_busy_machine_is_no_warning_of_a_simulated_clock(measure: Measure) -> None:
    busy = "import os; os.getloadavg = lambda: (1e6, 0.0, 0.0)"
    card, _, _ = measure("fpga", limits=replace(SHORT, simulated_samples=10), said_first=busy)
    if card.status == "unavailable":
        pytest.skip(card.reason)
    assert "cpu_oversubscribed" not in codes(card.warnings)
    result, _, _ = measure("ort-cpu", said_first=busy)
    assert "cpu_oversubscribed" in codes(result.warnings)
