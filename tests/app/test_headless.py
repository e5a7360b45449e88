"""The command line from the outside: real processes, real signals, real folders."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from app.__main__ import main
from app.results.manifest import MANIFEST
from app.results.reader import read_run
from app.results.text import unusual_options
from runtimes.ort.runtime import OrtCpu
from tests.app.sweep.sources.test_largest import write_wide_graph
from tests.app.sweep.sweeps import write_add_graph

ROOT = Path(__file__).resolve().parents[2]
FAKE = ("--runtimes", "fake")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def work(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with one small graph in it."""
    monkeypatch.setenv("GRAPHLAP_CACHE", str(cache))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    write_add_graph(tmp_path / "add.onnx")
    return tmp_path


def launch(*arguments: str, file_limit: int | None = None) -> subprocess.Popen[str]:
    """Batch mode in a process group of its own; no file of it may exceed `file_limit` bytes."""
    code = "import sys; from app.__main__ import main; sys.exit(main(sys.argv[1:]))"
    if file_limit is not None:
        limits = f"(resource.RLIMIT_FSIZE, ({file_limit}, {file_limit}))"
        code = f"import resource; resource.setrlimit{limits}; {code}"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(*arguments: str, file_limit: int | None = None) -> tuple[int, str, str]:
    process = launch(*arguments, file_limit=file_limit)
    out, errors = process.communicate(timeout=120)
    return process.returncode, out, errors


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def wait_for_rounds(folder: Path, count: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if (folder / MANIFEST).exists() and recorded(folder) >= count:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    raise AssertionError("the rounds did not come")


def recorded(folder: Path) -> int:
    return sum(len(rounds) for rounds in read_run(folder).rounds.values())


def test_a_sweep_leaves_rows_a_table_and_no_process(work: Path) -> None:
    code, out, log = run(
        *("--headless", "--models", "add.onnx", "--runtimes", "fake,ort-cpu", "--rounds", "1"),
        *("--scenario", "closed_loop,paced:20us", "--out", "run", "--export", "parquet"),
    )
    assert code == 0, log
    found = rows(work / "run")
    assert [row["status"] for row in found] == ["ok"] * 4
    assert {row["scenario"] for row in found} == {"closed_loop", "paced"}
    assert all(float(row["latency_p99_us"]) > 0 for row in found)
    assert "add.onnx" in out and "p50" in out
    assert "4 cases" in log and "round 1: ok" in log
    assert (work / "run" / "samples.parquet").exists()
    live = json.loads((work / "run" / "live.json").read_text())
    assert (live["state"], live["exit_code"], live["rounds_done"]) == ("finished", 0, 4)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--models", "cnn_tinny"], "did you mean 'cnn_tiny'?"),
        (["--models", "absent.onnx"], "no file matches"),
        (["--models", "add.onnx", "--runtimes", "ortcpu"], "did you mean 'ort-cpu'?"),
        (["--suite", "startr"], "did you mean 'starter'?"),
        (["--suite", "starter", "--models", "cnn_tinny"], "did you mean 'cnn_tiny'?"),
        (["--models", "mlp", "--profile", "quik"], "did you mean 'quick'?"),
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
        (["--models", "mlp", "--wait", "spinn"], "did you mean 'spin'?"),
        (["--models", "mlp", "--export", "parket"], "did you mean 'parquet'?"),
        (["--models", "mlp", "--option", "fake.latency=1"], "did you mean 'latency_us'?"),
        (["--models", "mlp", "--option", "fake.latency=1"], "distribution, spread_us, wait"),
        (["--models", "mlp", "--option", "fake.seed=x"], "fake.seed=x is no whole number"),
        (["--models", "mlp", "--option", "fake.latency_us=nan"], "is no number"),
        (["--models", "mlp", "--option", "fake.latency_us=-1"], "the least is 0"),
        (["--models", "mlp", "--option", "fake.wait=spinn"], "use one of spin, sleep"),
        (["--models", "mlp", "--memory-limit", "8"], "8GiB"),
        (["--models", "mlp", "--memory-limit", "0GiB"], "8GiB"),
        (["--models", "mlp", "--largest-batch", "--batch", "1,2"], "give --batch one value"),
        (["--resume", "future", "--profile-ops"], "--profile-ops"),
        (["--models", "mlp", "--bach", "1"], "did you mean '--batch'?"),
        (["--models"], "expected one argument"),
        (["--models", ""], "empty part"),
        ([], "nothing to measure"),
        (["--suite", "starter", "--plan", "p.toml"], "two plans"),
        (["--plan", "absent.toml"], "absent.toml"),
        (["--plan", "empty.toml"], "sweeps"),
        (["--models", "open.onnx"], "'N' and 'height'"),
        (["--models", "open.onnx", "--batch", "1"], "--axis height=1,2,4"),
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
    write_add_graph(work / "open.onnx", ("N", "height"))
    (work / "empty.toml").touch()
    for name in ("taken", "future"):
        (work / name).mkdir()
    (work / "taken" / "notes").touch()
    (work / "future" / "manifest.json").write_text('{"schema_version": 99}')
    before = sorted(work.rglob("*"))
    runtimes = () if "--resume" in arguments else FAKE
    assert main(["--headless", *runtimes, *arguments]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert ": " in captured.err.removeprefix("graphlap: "), "there is a remedy"
    assert sorted(work.rglob("*")) == before


def test_a_second_run_does_not_overwrite_the_first(work: Path) -> None:
    arguments = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "1", "--out", "run")
    assert run(*arguments)[0] == 0
    before = (work / "run" / "results.csv").read_bytes()
    code, _, errors = run(*arguments)
    assert code == 2
    assert "belongs to another run" in errors
    assert (work / "run" / "results.csv").read_bytes() == before


def test_files_that_are_no_models_are_rows_with_their_reason(work: Path) -> None:
    (work / "text.onnx").write_text("this is no model")
    whole = (work / "add.onnx").read_bytes()
    (work / "half.onnx").write_bytes(whole[: len(whole) // 2])
    code, _, _ = run("--headless", "--models", "*.onnx", *FAKE, "--rounds", "1", "--out", "run")
    assert code == 1
    found = {row["model"]: row for row in rows(work / "run")}
    assert found["add.onnx"]["status"] == "ok"
    for name in ("text.onnx", "half.onnx"):
        assert found[name]["status"] == "export_failed"
        assert name in found[name]["reason"]
        assert found[name]["latency_p50_us"] == ""


def test_failures_are_rows_and_decide_the_exit_code(work: Path) -> None:
    base = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "2", "--time-limit", "3")
    code, out, _ = run(
        *base, "--option", "fake.fail=crash,hang,wrong,run,unsupported,none", "--out", "run"
    )
    assert code == 1
    found = {unusual_options("fake", row["options"]): row for row in rows(work / "run")}
    statuses = {options: row["status"] for options, row in found.items()}
    assert statuses == {
        "fail=crash": "crashed",
        "fail=hang": "timeout",
        "fail=wrong": "wrong_output",
        "fail=run": "run_failed",
        "fail=unsupported": "unsupported",
        "": "ok",
    }
    assert found["fail=crash"]["stop_reason"] == ""
    assert found["fail=wrong"]["latency_p50_us"] != "", "a wrong row keeps its timing"
    assert "SIGSEGV" in out


def test_what_is_only_unsupported_fails_under_strict_alone(work: Path) -> None:
    base = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "1")
    some = ("--option", "fake.fail=unsupported,none")
    assert run(*base, *some, "--out", "one")[0] == 0
    assert run(*base, *some, "--out", "two", "--strict")[0] == 1


def test_a_run_that_could_measure_nothing_does_not_end_as_if_all_were_well(work: Path) -> None:
    base = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "1")
    assert run(*base, "--option", "fake.fail=unsupported", "--out", "run")[0] == 1
    (row,) = rows(work / "run")
    assert row["status"] == "unsupported"


def test_runs_that_begin_in_the_same_second_get_folders_of_their_own(work: Path) -> None:
    base = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "1")
    children = [launch(*base) for _ in range(4)]
    for child in children:
        out, log = child.communicate(timeout=120)
        assert child.returncode == 0, (out, log)
    assert len(list((work / "graphlap-results").iterdir())) == 4


def test_a_kill_at_any_moment_loses_at_most_the_round_in_flight(work: Path) -> None:
    arguments = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "3", "--out", "run")
    process = launch(*arguments, "--option", "fake.latency_us=50,60")
    chance = random.Random(4)
    kept: dict[tuple[str, int], bytes] = {}
    for least in (1, 2):
        wait_for_rounds(work / "run", least, process)
        time.sleep(chance.uniform(0.0, 1.0))
        children = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert not psutil.wait_procs(children, timeout=10)[1], "children die with their parent"
        kept |= samples_of(work / "run")
        process = launch("--resume", "run")
    out, log = process.communicate(timeout=120)
    assert process.returncode == 0, (out, log)
    finished = samples_of(work / "run")
    assert len(finished) == 2 * 3
    assert finished.items() >= kept.items(), "finished rounds are not measured again"
    lines = [
        (line["case_id"], line["round"])
        for path in (work / "run" / "journal").iterdir()
        for line in map(json.loads, path.read_text().splitlines())
        if line["kind"] == "round"
    ]
    assert len(lines) == len(set(lines)) == 6
    assert [row["status"] for row in rows(work / "run")] == ["ok"] * 2


def samples_of(folder: Path) -> dict[tuple[str, int], bytes]:
    """The raw samples of every recorded round."""
    return {
        (case_id, number): (folder / "samples" / result.samples).read_bytes()
        for case_id, rounds in read_run(folder).rounds.items()
        for number, result in rounds.items()
    }


def test_resuming_a_finished_run_measures_nothing(work: Path) -> None:
    base = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "1", "--out", "run")
    assert run(*base)[0] == 0
    before = samples_of(work / "run")
    assert run("--resume", "run")[0] == 0
    assert samples_of(work / "run") == before


@pytest.mark.parametrize("how", ["signal", "line"])
def test_a_stop_ends_the_run_in_order_and_it_resumes(work: Path, how: str) -> None:
    process = launch("--headless", "--models", "add.onnx", *FAKE, "--rounds", "3", "--out", "run")
    wait_for_rounds(work / "run", 1, process)
    assert process.stdin
    if how == "signal":
        process.send_signal(signal.SIGINT)
        out, log = process.communicate(timeout=60)
    else:
        out, log = process.communicate("stop\n", timeout=60)
    assert process.returncode == 130, (out, log)
    assert "Traceback" not in log
    assert json.loads((work / "run" / "live.json").read_text())["state"] == "stopped"
    (row,) = rows(work / "run")
    assert row["status"] == "ok"
    assert "of 3 rounds" in row["warnings"]
    assert len(list((work / "run" / "samples").iterdir())) == recorded(work / "run")
    assert run("--resume", "run")[0] == 0
    assert recorded(work / "run") == 3


def test_pause_and_resume_through_standard_input(work: Path) -> None:
    process = launch("--headless", "--models", "add.onnx", *FAKE, "--rounds", "2", "--out", "run")
    assert process.stdin
    process.stdin.write("pause\n")
    process.stdin.flush()
    deadline = time.monotonic() + 60
    live = work / "run" / "live.json"
    while not live.exists() or json.loads(live.read_text())["state"] != "paused":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    before = recorded(work / "run")
    assert before < 2
    time.sleep(1.0)
    assert recorded(work / "run") == before
    process.communicate("resume\n", timeout=60)
    assert process.returncode == 0
    assert recorded(work / "run") == 2


def test_the_end_of_standard_input_does_not_end_the_run(work: Path) -> None:
    process = launch("--headless", "--models", "add.onnx", *FAKE, "--rounds", "1", "--out", "run")
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_disk_that_fills_up_ends_with_1_and_the_folder_resumes(work: Path) -> None:
    code, _, errors = run(
        *("--headless", "--models", "add.onnx", *FAKE, "--rounds", "2", "--out", "run"),
        *("--option", "fake.latency_us=20,20000"),
        file_limit=64 * 1024,
    )
    assert code == 1
    assert "--resume" in errors and "Traceback" not in errors
    assert recorded(work / "run") < 4
    assert run("--resume", "run")[0] == 0
    assert recorded(work / "run") == 4
    assert [row["status"] for row in rows(work / "run")] == ["ok"] * 2


def test_a_plan_file_and_the_same_flags_give_the_same_cases(work: Path) -> None:
    (work / "plan.toml").write_text(
        'rounds = 1\n[[sweeps]]\nmodels = ["add.onnx"]\nruntimes = ["fake"]\nthreads = [1, 2]\n'
    )
    assert run("--headless", "--plan", "plan.toml", "--out", "one")[0] == 0
    flags = ("--headless", "--models", "add.onnx", *FAKE, "--threads", "1,2", "--rounds", "1")
    assert run(*flags, "--out", "two")[0] == 0
    one, two = ([row["case_id"] for row in rows(work / name)] for name in ("one", "two"))
    assert one == two


def test_rows_tell_all_options_and_a_spelled_out_default_is_no_other_case(work: Path) -> None:
    base = ("--headless", "--models", "add.onnx", "--runtimes", "ort-cpu", "--rounds", "1")
    option = "ort-cpu.graph_optimization=all,basic,off"
    code, out, _ = run(*base, "--option", option, "--out", "one")
    assert code == 0
    (work / "plan.toml").write_text(
        'rounds = 1\n[[sweeps]]\nmodels = ["add.onnx"]\nruntimes = ["ort-cpu"]\n'
        "[sweeps.options.ort-cpu]\n"
        'graph_optimization = ["all", "basic", "off"]\nintra_op_spinning = [true]\n'
    )
    assert run("--headless", "--plan", "plan.toml", "--out", "two")[0] == 0
    one, two = rows(work / "one"), rows(work / "two")
    assert [row["case_id"] for row in one] == [row["case_id"] for row in two]
    assert [row["options"] for row in one] == [row["options"] for row in two]
    plain, basic, off = (dict(p.split("=") for p in row["options"].split()) for row in one)
    assert plain["graph_optimization"] == "all"
    assert plain | {"graph_optimization": "basic"} == basic
    assert {name for name in plain if plain[name] != off[name]} == {"graph_optimization"}
    assert set(plain) == {option.name for option in OrtCpu().options}
    assert "graph_optimization=off" in out
    assert "memory_arena" not in out, "people are told what differs"


def test_operators_are_profiled_after_the_rounds_and_a_resume_adds_what_lacks(work: Path) -> None:
    arguments = ("--headless", "--models", "add.onnx", "--runtimes", "ort-cpu,fake")
    code, out, _ = run(*arguments, "--rounds", "1", "--profile-ops", "--out", "run")
    assert code == 0
    assert "operators of add.onnx ort-cpu" in out
    lines = profile_lines(work / "run")
    by_reason = {bool(line["reason"]): line for line in lines}
    assert len(lines) == 2
    assert "does not tell" in by_reason[True]["reason"], "fake runs no operators"
    table = work / "run" / "profiles" / by_reason[False]["profile"]
    (operator,) = csv.DictReader(table.read_text().splitlines())
    assert operator["op"] == "Add"
    assert float(operator["share"]) == 1.0
    assert [row["status"] for row in rows(work / "run")] == ["ok", "ok"]

    (journal,) = (work / "run" / "journal").iterdir()
    kept = [line for line in journal.read_text().splitlines() if '"kind":"profile"' not in line]
    journal.write_text("\n".join(kept) + "\n")
    assert run("--resume", "run")[0] == 0
    assert len(profile_lines(work / "run")) == 2
    assert recorded(work / "run") == 2


def profile_lines(folder: Path) -> list[dict[str, str]]:
    return [
        line
        for path in sorted((folder / "journal").iterdir())
        for line in map(json.loads, path.read_text().splitlines())
        if line["kind"] == "profile"
    ]


def test_a_search_keeps_its_tries_tells_its_result_and_resumes(work: Path) -> None:
    write_wide_graph(work / "wide.onnx", ("N", 4))
    arguments = ("--headless", "--models", "wide.onnx", "--runtimes", "ort-cpu")
    code, out, log = run(
        *arguments, "--largest-batch", "--memory-limit", "160MiB", "--batch", "8", "--out", "run"
    )
    assert code == 0, log
    found = {int(row["axes"].removeprefix("N=")): row["status"] for row in rows(work / "run")}
    assert next(iter(found)) == 8
    assert set(found.values()) == {"ok", "out_of_memory"}
    largest = max(size for size, status in found.items() if status == "ok")
    assert f" {largest} " in out
    assert "out of memory at" in out and "160MiB" in out
    live = json.loads((work / "run" / "live.json").read_text())
    assert live["rounds_done"] == live["rounds_total"] == live["cases_total"] == len(found)
    assert run("--resume", "run")[0] == 0
    assert recorded(work / "run") == len(found)


MODULE = """
import torch

def build():
    return torch.nn.Linear(4, 4), {"x": torch.zeros(1, 4)}
"""


def test_sessions_at_once_are_an_option_of_the_sweep(work: Path) -> None:
    (work / "net.py").write_text(MODULE)
    options = ("ort-cpu.sessions=1,2", "openvino-cpu.sessions=2", "torch-cpu.sessions=2")
    code, _, stderr = run(
        *("--headless", "--models", "net.py:build", "--runtimes", "ort-cpu,openvino-cpu,torch-cpu"),
        *(text for option in options for text in ("--option", option)),
        *("--rounds", "1", "--out", "run"),
    )
    assert code == 0, stderr
    table = rows(work / "run")
    assert [(row["runtime"], row["concurrency"]) for row in table] == [
        ("ort-cpu", "1"),
        ("ort-cpu", "2"),
        ("openvino-cpu", "2"),
        ("torch-cpu", "2"),
    ]
    for row in table:
        assert (row["status"], row["output_ok"]) == ("ok", "true")
        assert f"sessions={row['concurrency']}" in row["options"].split()
        per_run = float(row["throughput_per_s"]) * float(row["latency_mean_us"]) / 1e6
        assert per_run == pytest.approx(float(row["concurrency"]))


def test_a_session_that_hangs_beside_others_is_killed_with_them(work: Path) -> None:
    script = ("fake.sessions=2", "fake.fail=hang", "fake.fail_session=1", "fake.fail_after=50")
    code, _, _ = run(
        *("--headless", "--models", "add.onnx", *FAKE, "--rounds", "1", "--time-limit", "3"),
        *(text for option in script for text in ("--option", option)),
        *("--out", "run"),
    )
    assert code == 1
    (row,) = rows(work / "run")
    assert row["status"] == "timeout"
