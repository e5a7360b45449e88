"""What is wrong with a command is one sentence, told before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from app.__main__ import main
from exporters.cache import default_limit_bytes
from tests.app.headless.batch import FAKE, rows, run


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--models", "cnn_tinny"], "did you mean 'cnn_tiny'?"),
        (["--models", "absent.onnx"], "no file matches"),
        (["--models", "add.onnx", "--runtimes", "ortcpu"], "did you mean 'ort-cpu'?"),
        (["--suite", "startr"], "did you mean 'starter'?"),
        (["--suite", "starter", "--models", "cnn_tinny"], "did you mean 'cnn_tiny'?"),
        (["--models", "mlp", "--preset", "quik"], "did you mean 'quick'?"),
        (["--models", "mlp", "--batch", "0"], "--batch 0"),
        (["--models", "mlp", "--batch", "-1"], "--batch -1"),
        (["--models", "mlp", "--batch", "x"], "--batch x"),
        (["--models", "mlp", "--batch", "1,,2"], "empty part"),
        (["--models", "mlp", "--axis", "bach=2"], "did you mean 'batch'?"),
        (["--models", "mlp", "--axis", "batch"], "write it as"),
        (["--models", "mlp", "--rounds", "0"], "--rounds 0"),
        (["--models", "mlp", "--threads", "-1"], "--threads -1"),
        (["--models", "mlp", "--seed", "x"], "--seed x"),
        (["--models", "mlp", "--precision", "fp23"], "did you mean 'fp32'?"),
        (["--models", "mlp", "--scenario", "paced"], "paced:20us"),
        (["--models", "mlp", "--idle-policy", "spinn"], "did you mean 'spin'?"),
        (["--models", "mlp", "--export", "parket"], "did you mean 'parquet'?"),
        (["--models", "mlp", "--option", "fake.latency=1"], "did you mean 'latency_us'?"),
        (
            ["--models", "mlp", "--option", "fake.latency=1"],
            "distribution, spread_us, slowing, after_pause_us, stall_us",
        ),
        (["--models", "mlp", "--option", "fake.seed=x"], "fake.seed=x is not an integer"),
        (["--models", "mlp", "--option", "fake.latency_us=nan"], "is not a number"),
        (["--models", "mlp", "--option", "fake.latency_us=-1"], "the least is 0"),
        (["--models", "mlp", "--option", "fake.wait=spinn"], "use one of spin, sleep"),
        (["--models", "mlp", "--memory-limit", "8"], "8GiB"),
        (["--models", "mlp", "--memory-limit", "0GiB"], "8GiB"),
        (["--models", "mlp", "--memory-limit", f"1{'0' * 400}GiB"], "8GiB"),
        (["--models", "add.onnx", "--inputs", "/dev/zero"], "is no file"),
        (["--plan", "deep.toml"], "nested too deeply"),
        (["--models", "mlp", "--largest-batch", "--batch", "1,2"], "give --batch one value"),
        (["--models", "add.onnx", "--cores", "8191"], "core 8191 is not there"),
        (["--models", "mlp", "--cores", "2-"], "write it as 2,3 or 2-5"),
        (["--models", "mlp", "--realtime", "0"], "--realtime 0"),
        (["--models", "mlp", "--realtime", "100"], "less than or equal to 99"),
        (["--models", "add.onnx", "--realtime", "1"], "give --cores"),
        (["--models", "mlp", "--slo", "99=5ms"], "write it like p99=5ms"),
        (["--models", "mlp", "--slo", "p99=5ms", "--scenario", "offline"], "chooses its own rates"),
        (
            ["--resume", "future", "--op-times"],
            "--op-times: graphlap resume has no such option",
        ),
        (["--models", "mlp", "--bach", "1"], "did you mean '--batch'?"),
        (["--models"], "expected one argument"),
        (["--models", ""], "the value is empty"),
        ([], "nothing to measure"),
        (["--suite", "starter", "--plan", "p.toml"], "two plans"),
        (["--plan", "absent.toml"], "absent.toml"),
        (["--plan", "empty.toml"], "sweeps"),
        (["--models", "mlp", "--out", "taken"], "is not empty"),
        (["--models", "mlp", "--out", "add.onnx"], "is a file"),
        (["--models", "mlp", "--out", "/proc/run"], "not writable"),
        (["--resume", "absent"], "no run folder"),
        (["--resume", "future"], "schema 99"),
        (["--resume", "future", "--batch", "2"], "--batch"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    work: Path, capsys: pytest.CaptureFixture[str], arguments: Sequence[str], sentence: str
) -> None:
    (work / "empty.toml").touch()
    (work / "deep.toml").write_text(f"a = {'[' * 5000}{']' * 5000}")
    for name in ("taken", "future"):
        (work / name).mkdir()
    (work / "taken" / "notes").touch()
    (work / "future" / "manifest.json").write_text('{"schema_version": 99}')
    paths_before = sorted(work.rglob("*"))
    runtimes = () if "--resume" in arguments else FAKE
    assert main(["--headless", *runtimes, *arguments]) == 2
    output = capsys.readouterr()
    assert sentence in output.err
    assert output.err.count("\n") == 1
    assert ": " in output.err.removeprefix("graphlap: "), "there is a remedy"
    assert sorted(work.rglob("*")) == paths_before


def test_a_limit_of_the_cache_is_a_size_or_refused(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE_LIMIT", "8GiB")
    assert default_limit_bytes() == 8 * 2**30
    monkeypatch.setenv("GRAPHLAP_CACHE_LIMIT", "1048576")
    assert default_limit_bytes() == 2**20
    monkeypatch.setenv("GRAPHLAP_CACHE_LIMIT", "lots")
    assert main(["--headless", *FAKE, "--models", "add.onnx", "--out", "run"]) == 2
    assert "'lots', which is no amount of memory: write it like 8GiB" in capsys.readouterr().err
    assert not (work / "run").exists()


def test_a_run_that_no_round_would_see_end_is_refused_by_its_row(work: Path) -> None:
    arguments = ("--models", "add.onnx", "--option", "fake.latency_us=1e300", "--out", "run")
    code, _, errors = run("--headless", *FAKE, *arguments, "--rounds", "1")
    assert code == 1, errors
    (row,) = rows(work / "run")
    assert (row["status"], row["iterations"]) == ("unsupported", "")
    assert "fake.latency_us=1e+300 is longer than any round" in row["reason"]
