"""What is wrong with a command is one sentence; listing and help come at once."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from exporters.cache import default_limit_bytes
from tests.app.cli.headless.batch import FAKE, rows, run

TWICE = "--option fake.latency_us=200,400 --baseline fake.latency_us=200"
REFUSED = (
    ("--models mlp --plot x.svg", "the plan has fewer than three: add --idle-sweep 20us..1s"),
    ("--models mlp --export parket", "did you mean 'parquet'?"),
    ("--models add.onnx --inputs /dev/zero", "is no file"),
    ("--plan deep.toml", "nested too deeply"),
    ("--models add.onnx --cores 8191", "core 8191 is not there"),
    ("--models add.onnx --realtime 1", "give --cores"),
    ("--models mlp --aa 2 --rounds 3 --against .", "give one of them"),
    ("--models mlp --fail-on slower", "--fail-on belongs to a comparison, and none is asked for"),
    (f"--models mlp {TWICE} -f markdown --sort p99", "--sort"),
    (f"--models mlp {TWICE} --json no/v.json", "--json no/v.json: its folder is not there"),
    ("", "nothing to measure"),
    ("--plan empty.toml", "sweeps"),
    ("--models mlp --out taken", "is not empty"),
    ("--models mlp --out add.onnx", "is a file"),
    ("--models mlp --out /proc/run", "not writable"),
    ("--resume absent", "no run folder"),
    ("--resume future", "schema 99"),
)
"""What is given to the batch mode -> what its one sentence holds."""


@pytest.mark.parametrize(("words", "sentence"), REFUSED)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    work: Path, words: str, sentence: str
) -> None:
    (work / "empty.toml").touch()
    (work / "deep.toml").write_text(f"a = {'[' * 5000}{']' * 5000}")
    for name in ("taken", "future"):
        (work / name).mkdir()
    (work / "taken" / "notes").touch()
    (work / "future" / "manifest.json").write_text('{"schema_version": 99}')
    paths_before = sorted(work.rglob("*"))
    runtimes = () if "--resume" in words else FAKE
    code, _, errors = run("--headless", *runtimes, *shlex.split(words))
    *first, last = errors.splitlines()
    assert code == 2 and sentence in last
    assert [line for line in first if not line.startswith("reading ")] == []
    assert ": " in last.removeprefix("graphlap: "), "there is a remedy"
    assert sorted(work.rglob("*")) == paths_before


def test_a_limit_of_the_cache_is_a_size_or_refused(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE_LIMIT", "8GiB")
    assert default_limit_bytes() == 8 * 2**30
    monkeypatch.setenv("GRAPHLAP_CACHE_LIMIT", "1048576")
    assert default_limit_bytes() == 2**20
    monkeypatch.setenv("GRAPHLAP_CACHE_LIMIT", "lots")
    code, _, errors = run("--headless", *FAKE, "--models", "add.onnx", "--out", "run")
    assert code == 2 and "'lots', which is no amount of memory: write it like 8GiB" in errors
    assert not (work / "run").exists()


def test_a_run_that_no_round_would_see_end_is_refused_by_its_row(work: Path) -> None:
    arguments = ("--models", "add.onnx", "--option", "fake.latency_us=1e300", "--out", "run")
    code, _, errors = run("--headless", *FAKE, *arguments, "--rounds", "1")
    assert code == 1, errors
    (row,) = rows(work / "run")
    assert (row["status"], row["iterations"]) == ("unsupported", "")
    assert "fake.latency_us=1e+300 is longer than any round" in row["reason"]


@pytest.mark.parametrize("arguments", [["open"], ["--models", "mlp"]])
def test_without_a_display_other_commands_are_named(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    code, _, errors = run(*arguments)
    assert code == 2 and "graphlap run" in errors


def test_an_engine_cache_that_cannot_be_written_is_told_before_anything_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "engines").write_text("a file where the folder should be", "ascii")
    out = tmp_path / "run"
    code, _, errors = run("--headless", "--models", "mlp", *FAKE, "--out", str(out))
    assert code == 2 and "the engine cache" in errors
    assert "set GRAPHLAP_CACHE" in errors
    assert not out.exists()
