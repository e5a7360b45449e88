"""`graphlap card search`: its formats, its exit codes, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import onnx
import pytest

from runtimes.fpga.cards import card_keys, load_card
from tests.app.cli.headless.batch import run as batch
from tests.runtimes.fpga.graphs import cnn_step


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "step.onnx"
    onnx.save(cnn_step(2, 64).model(), path)
    return str(path)


def run(*arguments: str) -> tuple[int, str, str]:
    return batch("card", *arguments)


def test_all_formats_name_the_same_configuration(model: str) -> None:
    arguments = ("search", model, "--p99", "2.5us", "--cards", "ia-420f,v80")
    code, table, _ = run(*arguments)
    assert code == 0
    answer = json.loads(run(*arguments, "-f", "json")[1])
    smallest = answer["smallest"]
    assert answer["clock"] == "simulated"
    assert smallest["p99_us"] <= 2.5
    assert smallest in answer["curve"]
    rows = list(csv.DictReader(io.StringIO(run(*arguments, "-f", "csv")[1])))
    (marked_row,) = [row for row in rows if row["smallest"] == "true"]
    for name, value in smallest.items():
        assert marked_row[name] == str(value)
    assert f"{smallest['p99_us']:.3f}" in table
    assert f"{smallest['p99_us']:.3f}" in run(*arguments, "-f", "markdown", "--quiet")[1]
    assert len(rows) == len(answer["curve"])


def test_cards_without_the_release_are_named_and_the_others_searched(model: str) -> None:
    arguments = ("search", model, "--p99", "9us", "--release", "sdk25", "-f", "json")
    code, out, _ = run(*arguments)
    answer = json.loads(out)
    assert code == 0 and {point["release"] for point in answer["curve"]} == {"sdk25"}
    cards = [load_card(key) for key in card_keys()]
    lacking = [card.name for card in cards if "sdk25" not in [r.name for r in card.releases]]
    assert lacking and answer["without_release"] == lacking
    assert run("search", model, "--p99", "9us", "--release", "sdk1")[0] == 2


def test_a_target_out_of_reach_is_exit_code_1_with_the_curve(model: str) -> None:
    code, out, _ = run("search", model, "--p99", "1us", "-f", "json")
    answer = json.loads(out)
    assert (code, answer["smallest"]) == (1, None)
    assert answer["curve"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("search",),
        ("search", "mlp"),
        ("search", "mlp", "--p99", "2us", "--cards", "v90"),
        ("search", "absent.onnx", "--p99", "2us"),
        ("search", "mlp", "lstm_tiny", "--p99", "2us"),
        (),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
