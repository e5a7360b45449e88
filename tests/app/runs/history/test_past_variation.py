"""Two runs compared with what the machine's earlier runs say of its variation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.__main__ import main
from app.cli.interface.run import compare
from app.run_folder.folder import RunFolder
from app.stats.verdict import LOADED, NO_RUN_VARIATION, RUN_VARIATION
from tests.app.present.console.telling import told
from tests.app.run_folder.runs import CASE, ENVIRONMENT, manifest_of, record
from tests.app.runs.history.pasts import night_at


def compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], first: Path, second: Path, *more: object
) -> tuple[int, dict[str, Any]]:
    """The exit code of a gate and the percentiles of CASE."""
    answer = tmp_path / "answer.json"
    arguments = ("compare", first, second, "--fail-on", "slower", "--json", answer, *more)
    code, _ = told(capsys, *arguments)
    document = json.loads(answer.read_text())
    case_entry = next(entry for entry in document["cases"] if entry["case_id"] == CASE.case_id)
    percentiles: dict[str, Any] = case_entry["percentiles"]
    return code, percentiles


def test_runs_beside_the_two_say_by_how_much_runs_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nights = [night_at(tmp_path / "runs" / f"{n}", n) for n in range(7)]
    nights.append(night_at(tmp_path / "runs" / "new", 7, 1.1))
    code, figures = compared(tmp_path, capsys, nights[6], nights[7])
    assert code == 3
    assert {name: figure["verdict"] for name, figure in figures.items()} == {
        "p50": "slower",
        "p99": "slower",
    }
    assert {figure["run_variation_from"] for figure in figures.values()} == {"history"}


def test_the_mean_and_the_throughput_have_a_history_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nights = [night_at(tmp_path / "runs" / f"{n}", n) for n in range(7)]
    nights.append(night_at(tmp_path / "runs" / "new", 7, 1.1))
    judge = ("--metrics", "mean,throughput")
    code, figures = compared(tmp_path, capsys, nights[6], nights[7], *judge)
    assert code == 3
    assert {figure["run_variation_from"] for figure in figures.values()} == {"history"}
    alone = [night_at(tmp_path / str(n) / "run", n, 1.0 + n / 10) for n in range(2)]
    code, figures = compared(tmp_path, capsys, alone[0], alone[1], *judge)
    assert code == 0
    assert {figure["reason"] for figure in figures.values()} == {NO_RUN_VARIATION}


def test_the_compared_runs_are_no_part_of_their_own_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two earlier runs are too few; with the two that are compared there would be four."""
    for number in range(3):
        night_at(tmp_path / "runs" / f"{number}", number)
    second = night_at(tmp_path / "runs" / "new", 3, 1.1)
    code, figures = compared(tmp_path, capsys, tmp_path / "runs" / "2", second)
    assert code == 0
    assert figures["p50"]["reason"] == RUN_VARIATION
    assert figures["p50"]["run_variation_from"] == "stated"
    assert figures["p99"]["reason"] == NO_RUN_VARIATION
    assert figures["p99"]["ratio_ci_low"] is None


def test_a_history_can_be_named_and_a_wrong_one_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(6):
        night_at(tmp_path / "past" / "deep" / f"{number}", number)
    first = night_at(tmp_path / "a" / "run", 6)
    second = night_at(tmp_path / "b" / "run", 7, 1.1)
    assert compared(tmp_path, capsys, first, second)[0] == 0
    code, figures = compared(tmp_path, capsys, first, second, "--history", tmp_path / "past")
    assert (code, figures["p50"]["run_variation_from"]) == (3, "history")
    assert main(["compare", str(first), str(second), "--history", "absent"]) == 2
    assert "absent" in capsys.readouterr().err


def test_runs_of_another_machine_are_no_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(6):
        night_at(tmp_path / "runs" / f"{number}", number, 1.0, {"cpu": "another processor"})
    first = night_at(tmp_path / "runs" / "a", 6)
    second = night_at(tmp_path / "runs" / "b", 7, 1.1)
    _, figures = compared(tmp_path, capsys, first, second)
    assert figures["p50"]["run_variation_from"] == "stated"


def test_a_change_of_the_code_in_the_past_is_no_variation_of_the_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    factors = [1.0] * 8 + [0.7] * 8
    for number, factor in enumerate(factors):
        night_at(tmp_path / "runs" / f"{number:02}", number, factor)
    second = night_at(tmp_path / "runs" / "new", 16, 0.77)
    _, figures = compared(tmp_path, capsys, tmp_path / "runs" / "15", second)
    assert figures["p50"]["verdict"] == "slower"
    assert figures["p50"]["run_variation"] < 0.02


def test_a_loaded_machine_makes_no_run_slower(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second run is 1.3 times slower, and both were measured on two cores."""
    paths = [tmp_path / name / "run" for name in ("a", "b")]
    rng = np.random.default_rng(5)
    for path, factor, load in zip(paths, (1.0, 1.3), (1.0, 6.5), strict=True):
        manifest = replace(manifest_of((CASE,)), environment={**ENVIRONMENT, "cores_logical": 2})
        with RunFolder.create(path, manifest) as folder:
            folder.begin(manifest.environment)
            for number in range(4):
                level_us = 100.0 * factor * np.exp(0.003 * rng.standard_normal())
                latency_us = level_us * np.exp(0.02 * rng.standard_normal(400))
                surroundings = {"load_1min": load}
                record(folder, CASE, number, latency_us.tolist(), environment=surroundings)
    found, figures = compared(tmp_path, capsys, *paths, "--metrics", "p50")
    assert (found, figures["p50"]["reason"]) == (0, LOADED)


def test_a_run_that_ends_is_compared_with_a_stored_one_by_the_history_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A whole run that is resumed measures nothing and is compared."""
    for number in range(6):
        night_at(tmp_path / "past" / "deep" / f"{number}", number)
    first = night_at(tmp_path / "a" / "run", 6)
    second = night_at(tmp_path / "b" / "run", 7, 1.1)
    answer = tmp_path / "answer.json"

    def sources(*more: object) -> tuple[int, set[str]]:
        line = ("resume", second, "--against", first, "--fail-on", "slower", "--json", answer)
        code, _ = told(capsys, *line, *more)
        case_entries = json.loads(answer.read_text())["cases"]
        return code, {entry["percentiles"]["p50"]["run_variation_from"] for entry in case_entries}

    assert sources() == (0, {"stated"})
    assert sources("--history", tmp_path / "past") == (3, {"history"})
    for number in range(6):
        night_at(second.parent / f"{number}", number)
    assert sources() == (3, {"history"}), "the runs beside the one that ended"


@pytest.mark.parametrize(
    "line",
    [
        ("run", "mlp", "--history", "past"),
        ("run", "mlp", "--baseline", "fake", "--history", "past"),
        ("run", "mlp", "--against", "RUN", "--history", "absent"),
        ("report", "RUN", "--history", "past"),
        ("report", "RUN", "RUN", "--history", "absent"),
    ],
    ids=["nothing compared", "a baseline", "no folder", "one run", "no folder of a report"],
)
def test_a_history_without_use_or_without_runs_is_refused(
    line: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    stored_run = night_at(tmp_path / "past" / "run", 1)
    assert main([str(stored_run) if word == "RUN" else word for word in line]) == 2
    assert "--history" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["past"], "nothing was written"


def test_python_compares_by_the_runs_beside_or_by_a_named_history(tmp_path: Path) -> None:
    for number in range(6):
        night_at(tmp_path / "past" / f"{number}", number)
    first = night_at(tmp_path / "a" / "run", 6)
    second = night_at(tmp_path / "b" / "run", 7, 1.1)
    for history, source in ((None, "stated"), (tmp_path / "past", "history")):
        comparison = compare(first, second, history=history).found
        p50 = next(
            entry for entry in comparison.cases if entry.case_id == CASE.case_id
        ).percentiles["p50"]
        assert p50.verdict.variation is not None and p50.verdict.variation.source == source
