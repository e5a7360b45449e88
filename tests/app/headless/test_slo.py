"""The search for the highest rate as a user runs it: real rounds, an end, and an answer."""

from __future__ import annotations

import csv
import re
import signal
from pathlib import Path

import pytest

from tests.app.headless.batch import FAKE, launch, recorded, rows, run, samples_of, wait_for_rounds

LONGEST_S = 540
SERVICE_MS = 20.0
SCRIPT = ("--option", f"fake.latency_us={1000 * SERVICE_MS}", "--option", "fake.wait=sleep")
SEARCH = ("--headless", "--models", "add.onnx", *FAKE, *SCRIPT, "--wait", "sleep", "--rounds", "4")
UTILISATION = 0.768
"""Where half of the requests of M/D/1 wait longer than one service: (1 - rho) e^rho = 1/2."""
ANSWER = re.compile(r"fake holds ([\d.,]+)/s \(([\d.,]+) to ([\d.,]+)\) at p50 <= 40.0 ms")


@pytest.mark.alone
def test_a_search_that_was_stopped_goes_on_and_brackets_what_the_formula_gives(work: Path) -> None:
    process = launch(*SEARCH, "--slo", "p50=40ms", "--out", "run")
    wait_for_rounds(work / "run", 6, process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 130
    assert "was not searched to the end: --resume the run" in out
    kept = samples_of(work / "run")

    process = launch("--resume", "run")
    out, log = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 0, (out, log)
    answer = ANSWER.search(out)
    assert answer is not None, out
    rate, low, high = (float(number.replace(",", "")) for number in answer.groups())
    service_ms = float(next(r for r in rows(work / "run"))["latency_p50_us"]) / 1e3
    assert low <= 1e3 * UTILISATION / service_ms <= high
    assert low < rate < high
    finished = samples_of(work / "run")
    assert finished.items() >= kept.items(), "finished rounds are not measured again"

    table = rows(work / "run")
    assert table[0]["scenario"].startswith("closed_loop")
    assert len(table) > 5
    assert all(row["scenario"].startswith("poisson") for row in table[1:])
    assert {row["wait_policy"] for row in table[1:]} == {"sleep"}
    with (work / "run" / "rates.csv").open(encoding="utf-8", newline="") as file:
        rates = {row["rate_hz"] for row in csv.DictReader(file)}
    assert rates == {"", *(row["rate_hz"] for row in table[1:])}
    assert (work / "run" / "rates.svg").read_text("utf-8").startswith("<svg")

    code, again, _ = run("--resume", "run")
    assert code == 0
    assert answer[0] in again
    assert samples_of(work / "run") == finished, "a search that is over measures nothing"


def test_a_target_below_one_service_ends_at_once_with_the_least_possible(work: Path) -> None:
    code, out, log = run(*SEARCH, "--slo", "p90=1ms", "--out", "run")
    assert code == 0, log
    assert "holds no rate at p90 <= 1.00 ms: unloaded its p90 is" in out
    assert "the least possible" in out
    assert recorded(work / "run") == 4


def test_a_runtime_that_fails_is_not_searched(work: Path) -> None:
    failing = ("--headless", "--models", "add.onnx", *FAKE, "--option", "fake.fail=run")
    code, out, _ = run(*failing, "--slo", "p90=1ms", "--out", "run")
    assert code == 1
    assert "holds no rate at p90 <= 1.00 ms: fake was told to fail this run" in out
    assert recorded(work / "run") == 1
