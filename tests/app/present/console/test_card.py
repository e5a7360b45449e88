"""`graphlap card search`: its formats, its exit codes, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import onnx
import pytest

from app.__main__ import main
from runtimes.fpga.cards import card_keys, load_card
from tests.runtimes.fpga.graphs import cnn_step


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "step.onnx"
    onnx.save(cnn_step(2, 64).model(), path)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str, int]:
    code = main(["card", *arguments])
    out, err = capsys.readouterr()
    return out, err, code


def test_all_formats_name_the_same_configuration(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("search", model, "--p99", "2.5us", "--cards", "ia-420f,v80")
    table, _, code = run(capsys, *arguments)
    assert code == 0
    answer = json.loads(run(capsys, *arguments, "-f", "json")[0])
    smallest = answer["smallest"]
    assert answer["clock"] == "simulated"
    assert smallest["p99_us"] <= 2.5
    assert smallest in answer["curve"]
    rows = list(csv.DictReader(io.StringIO(run(capsys, *arguments, "-f", "csv")[0])))
    (marked_row,) = [row for row in rows if row["smallest"] == "true"]
    for name, value in smallest.items():
        assert marked_row[name] == str(value)
    assert f"{smallest['p99_us']:.3f}" in table
    assert f"{smallest['p99_us']:.3f}" in run(capsys, *arguments, "-f", "markdown", "--quiet")[0]
    assert len(rows) == len(answer["curve"])


def test_cards_without_the_release_are_named_and_the_others_searched(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("search", model, "--p99", "9us", "--release", "sdk25", "-f", "json")
    out, _, code = run(capsys, *arguments)
    answer = json.loads(out)
    assert code == 0 and {point["release"] for point in answer["curve"]} == {"sdk25"}
    cards = [load_card(key) for key in card_keys()]
    lacking = [card.name for card in cards if "sdk25" not in [r.name for r in card.releases]]
    assert lacking and answer["without_release"] == lacking
    assert run(capsys, "search", model, "--p99", "9us", "--release", "sdk1")[2] == 2


def test_a_target_out_of_reach_is_exit_code_1_with_the_curve(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _, code = run(capsys, "search", model, "--p99", "1us", "-f", "json")
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
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    out, err, code = run(capsys, *arguments)
    assert (out, code) == ("", 2)
    assert len(err.strip().splitlines()) == 1
