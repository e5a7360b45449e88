"""Kills, stops, full disks, circumstances: what was measured is kept, and a resume goes on."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from app.analysis.columns.rows import Rows
from app.analysis.columns.status import NOT_REACHED
from app.cases.round import RECORD
from app.run_folder.diagnostics import diagnostics_of
from app.runs.reader import read_run
from app.sweep.scheduling import grid
from tests.app.cli.headless.batch import (
    FAKE,
    SLEEPING,
    launch,
    recorded,
    rows,
    run,
    samples_of,
    wait_for_rounds,
)
from tests.app.sweep.sweeps import write_add_graph
from tests.exporters.support import save_affine


def test_a_kill_at_any_moment_loses_at_most_the_round_in_flight(work: Path) -> None:
    arguments = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "2", "--out", "run")
    slept = ("--option", "fake.latency_us=3000,4000", "--option", "fake.wait=sleep")
    process = launch(*arguments, *slept)
    chance = random.Random(4)
    old_samples: dict[tuple[str, int], bytes] = {}
    for least in (1, 2):
        wait_for_rounds(work / "run", least, process)
        time.sleep(chance.uniform(0.0, 0.5))
        children = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert not psutil.wait_procs(children, timeout=10)[1], "children die with their parent"
        old_samples |= samples_of(work / "run")
        process = launch("resume", "run")
    out, log = process.communicate(timeout=120)
    assert process.returncode == 0, (out, log)
    final_samples = samples_of(work / "run")
    assert len(final_samples) == 2 * 2
    assert final_samples.items() >= old_samples.items(), "finished rounds are not measured again"
    lines = [
        (line["case_id"], line["round"])
        for path in (work / "run" / "journal").iterdir()
        for line in map(json.loads, path.read_text().splitlines())
        if line["kind"] == "round"
    ]
    assert len(lines) == len(set(lines)) == 4
    assert [row["status"] for row in rows(work / "run")] == ["ok"] * 2


@pytest.mark.rare
def test_a_large_sweep_that_is_interrupted_tells_nothing_of_what_was_not_begun(work: Path) -> None:
    write_add_graph(work / "open.onnx", ("batch", 3))
    many = ",".join(map(str, range(1, 101)))
    process = launch(
        *("--headless", "--models", "open.onnx", *FAKE, "--rounds", "2", "--out", "run"),
        *("--threads", many, "--option", f"fake.seed={many}"),
        *("--batch", "1"),
    )
    while not any('"round"' in p.read_text() for p in (work / "run" / "journal").glob("*")):
        assert process.poll() is None
        time.sleep(0.1)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
    out, log = process.communicate(timeout=120)
    assert process.returncode == 130, (out, log)
    assert len(rows(work / "run")) == 10_000
    output_lines = (out + log).splitlines()
    assert len(output_lines) < 60, "a line for each would take a minute"
    assert sum(NOT_REACHED in line for line in output_lines) == 1


@pytest.mark.parametrize(
    "how", [signal.SIGINT, pytest.param(signal.SIGHUP, marks=pytest.mark.rare), None]
)
def test_a_stop_ends_the_run_in_order_and_it_resumes(
    work: Path, how: signal.Signals | None
) -> None:
    command = ("--headless", "--models", "add.onnx", *FAKE, *SLEEPING, "--rounds", "3")
    process = launch(*command, "--out", "run", steered=how is None)
    wait_for_rounds(work / "run", 1, process)
    assert process.stdin
    if how is not None:
        process.send_signal(how)
        out, log = process.communicate(timeout=60)
    else:
        out, log = process.communicate("stop\n", timeout=60)
    assert process.returncode == 130, (out, log)
    assert "Traceback" not in log
    assert json.loads((work / "run" / "live.json").read_text())["state"] == "stopped"
    (row,) = rows(work / "run")
    assert row["status"] == "ok"
    assert "rounds_missing" in row["warning_codes"]
    assert len(list((work / "run" / "samples").iterdir())) == recorded(work / "run")
    assert run("resume", "run")[0] == 0
    assert recorded(work / "run") == 3


def test_a_hang_up_that_is_ignored_stays_ignored(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old_handler = signal.signal(
        signal.SIGHUP, signal.SIG_IGN
    )  # as nohup does, and children inherit it
    try:
        process = launch(
            *("--headless", "--models", "add.onnx", *FAKE, *SLEEPING, "--rounds", "2"),
            *("--out", "run"),
        )
    finally:
        signal.signal(signal.SIGHUP, old_handler)
    wait_for_rounds(work / "run", 1, process)
    process.send_signal(signal.SIGHUP)
    out, log = process.communicate(timeout=60)
    assert process.returncode == 0, (out, log)
    assert recorded(work / "run") == 2


def _one_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-RECORD.itemsize] ^= 1  # the last run was due a nanosecond earlier
    path.write_bytes(data)


@pytest.mark.parametrize("harm", [_one_bit, Path.unlink])
def test_a_round_whose_samples_are_damaged_does_not_count_and_is_measured_again(
    work: Path, harm: Callable[[Path], None]
) -> None:
    command = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "2", "--out", "run")
    assert run(*command)[0] == 0
    damaged_file, whole = sorted((work / "run" / "samples").iterdir())
    content = whole.read_bytes()
    harm(damaged_file)
    (row,) = Rows().of(read_run(work / "run"))
    assert row["rounds"] == 1
    code = "samples_unreadable" if harm is Path.unlink else "samples_damaged"
    (damaged_samples,) = (entry for entry in diagnostics_of(row) if entry.code == code)
    assert damaged_samples.parameters["round"] == 1
    exit_code, _, log = run("resume", "run")
    assert exit_code == 0
    assert "add.onnx fake round 1 is measured again: " in log
    assert whole.read_bytes() == content
    (row,) = Rows().of(read_run(work / "run"))
    assert row["rounds"] == 2
    assert code not in str(row["warning_codes"])
    assert run("verify", "run")[0] == 0


def test_a_disk_that_fills_up_ends_with_1_and_the_folder_resumes(work: Path) -> None:
    process = launch(
        *("--headless", "--models", "add.onnx", *FAKE, "--rounds", "2", "--out", "run"),
        *("--option", "fake.latency_us=20,2000"),
        file_limit=64 * 1024,
    )
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "resume" in errors and "Traceback" not in errors
    assert recorded(work / "run") < 4
    live = json.loads((work / "run" / "live.json").read_text())
    assert live["state"] == "stopped" and live["disk_error"]
    assert run("resume", "run")[0] == 0
    assert recorded(work / "run") == 4
    assert [row["status"] for row in rows(work / "run")] == ["ok"] * 2


@pytest.mark.rare
def test_a_folder_that_is_moved_away_ends_with_1_and_resumes_where_it_is(work: Path) -> None:
    arguments = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "4", "--out", "run")
    process = launch(*arguments, "--option", "fake.latency_us=50,60")
    wait_for_rounds(work / "run", 1, process)
    (work / "run").rename(work / "elsewhere")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    # Its own folder, or the samples of a round: whichever is missed first says it.
    assert "(No such file or directory): put" in errors
    assert "resume" in errors and "Traceback" not in errors
    assert not (work / "run").exists(), "no half of a run is left in its place"
    old_samples = samples_of(work / "elsewhere")
    assert run("resume", "elsewhere")[0] == 0
    assert samples_of(work / "elsewhere").items() >= old_samples.items()
    assert [row["status"] for row in rows(work / "elsewhere")] == ["ok"] * 2


ONE = ("--rounds", "1", "--out", "run")


def _status(work: Path) -> str:
    (row,) = rows(work / "run")
    return row["status"]


def test_a_file_that_is_missing_for_a_while_costs_its_case_nothing(work: Path) -> None:
    """What a factory reads is known to nobody but itself; external data is a part of the model."""
    body = "import pathlib\n\n\ndef build():\n    pathlib.Path('data').read_text()\n"
    body += "    import torch\n    return torch.nn.Linear(2, 2), {'x': torch.ones(1, 2)}\n"
    (work / "net.py").write_text(body)
    save_affine(work / "affine.onnx", external="affine.weights")
    (work / "affine.weights").rename(work / "away")
    assert run("--headless", "--models", "net.py:build,affine.onnx", *FAKE, *ONE)[0] == 1
    assert [row["status"] for row in rows(work / "run")] == ["export_failed"] * 2
    (work / "data").write_text("here again")
    (work / "away").rename(work / "affine.weights")
    assert run("resume", "run")[0] == 0
    assert [row["status"] for row in rows(work / "run")] == ["ok"] * 2
    assert read_run(work / "run").rounds


def test_a_measuring_process_that_somebody_kills_is_started_again(work: Path) -> None:
    """As the system does for want of memory, whose memory it ever was."""
    arguments = ("--headless", "--models", "add.onnx", *FAKE, *SLEEPING, "--preset", "standard")
    process = launch(*arguments, *ONE)
    deadline = time.monotonic() + 60
    while not list((work / "run" / "samples").glob("*.bin")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    for child in psutil.Process(process.pid).children():
        if "app.workers.measure" in " ".join(child.cmdline()):
            child.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert _status(work) == "crashed"
    assert run("resume", "run")[0] == 0
    assert _status(work) == "ok"


def test_a_runtime_that_was_not_there_is_measured_when_it_is(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("--headless", "--models", "add.onnx", *FAKE, "--rounds", "2", "--out", "run")
    with monkeypatch.context() as patch:
        refusal = ("unavailable", "it is not installed: install it")
        patch.setattr(grid, "early_refusal", lambda *_: refusal)
        run(*arguments)
    assert _status(work) == "unavailable"
    assert run("resume", "run")[0] == 0
    (row,) = rows(work / "run")
    assert (row["status"], row["rounds"]) == ("ok", "2")
    assert run("verify", "run")[0] == 0
