"""What `python -m runtimes.fpga schedule --json` answers to a program that asks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.runtimes.fpga.graphs import cnn_step, lstm_step


def asked(path: Path, **changes: Any) -> dict[str, Any]:
    """The answer of a process of its own, which steps back behind all others."""
    builder = cnn_step(3, 128)
    if not path.exists():
        onnx.save(builder.model(), path)
    question = {
        "model": "cnn_small",
        "path": str(path),
        "axes": {},
        "states": [list(pair) for pair in builder.states],
        "card": "v80",
        "release": "",
        "options": {},
        "gap_us": 20.0,
    }
    process = subprocess.run(
        [sys.executable, "-m", "runtimes.fpga", "schedule", "--json"],
        input=json.dumps(question | changes) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stderr == ""
    (line,) = process.stdout.splitlines()
    answer: dict[str, Any] = json.loads(line)
    return answer


def test_the_schedule_is_the_one_that_is_explained(tmp_path: Path) -> None:
    answer = asked(tmp_path / "step.onnx")
    # As `explain` tells of the same graph: 183 cycles after a pause, 384 of 24,576 tiles.
    assert (answer["model"], answer["card"], answer["release"]) == ("cnn_small", "V80", "sdk26")
    assert (answer["cycles"], answer["io_us"]) == (183, pytest.approx(1.815))
    assert (answer["tiles_used"], answer["tiles_total"]) == (384, 24576)
    assert sum(answer["tiles_by_core"]) == 384
    assert answer["fidelity"] == "calibrated"
    assert len(answer["events"]) == 6
    assert max(event["done"] for event in answer["events"]) == 183


def test_without_a_pause_less_is_done_before(tmp_path: Path) -> None:
    assert asked(tmp_path / "step.onnx", gap_us=0.0)["cycles"] == 240


def test_no_card_is_the_first_one_and_options_change_it(tmp_path: Path) -> None:
    answer = asked(tmp_path / "step.onnx", card="", options={"clock": 600.0})
    assert (answer["card"], answer["clock_mhz"]) == ("V80", 600.0)


def test_what_the_card_cannot_run_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    onnx.save(lstm_step(3, 480).model(), path)
    answer = asked(path, card="ia-420f", states=[])
    assert answer.keys() == {"problem"}
    assert "needs 5415 tiles, the card has 3072" in answer["problem"]["cause"]
