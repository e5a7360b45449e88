"""The timed loop: what is inside the clock and what is not."""

import time

import numpy as np
import pytest

from app.cases.scenario import WaitPolicy
from app.workers.loop import WAIT, Block, run_block

pytestmark = pytest.mark.alone


def test_feeding_back_the_state_is_never_timed() -> None:
    block = Block(20)
    run_block(block, 20, int, lambda: time.sleep(0.002), 0, WAIT["spin"])
    records = block.records(20, 1)
    latency = records["finished_ns"] - records["started_ns"]
    assert np.median(latency) < 1_000_000
    assert (np.diff(records["started_ns"]) > 2_000_000).all()


@pytest.mark.parametrize("policy", ["spin", "sleep", "hybrid"])
def test_paced_runs_start_no_sooner_than_the_gap_after_the_last(policy: WaitPolicy) -> None:
    block = Block(50)
    run_block(block, 50, int, None, 1_000_000, WAIT[policy])
    records = block.records(50, 1)
    assert (records["scheduled_ns"][1:] - records["finished_ns"][:-1] == 1_000_000).all()
    assert (records["started_ns"] >= records["scheduled_ns"]).all()


def test_closed_loop_is_scheduled_when_it_starts() -> None:
    block = Block(10)
    run_block(block, 10, int, None, 0, WAIT["spin"])
    records = block.records(10, 0)
    assert (records["scheduled_ns"] == records["started_ns"]).all()
    assert (records["finished_ns"][:-1] <= records["started_ns"][1:]).all()
