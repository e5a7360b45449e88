"""`--merge` as a user starts it: real runs of two hosts become one, whole or not at all."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.runs.reader import read_run
from app.runs.verify import verify
from tests.app.headless.batch import launch, rows, run
from tests.app.runs.merging.machines import NETS, machine, made

SWEEP = ("--headless", "--models", "add.onnx", "--preset", "glance", "--rounds", "1")
ANOTHER_HOST = ("unshare", "--uts", "sh", "-c")
"""A process with a host's name of its own, which the system allows some users."""


def may_have_another_name() -> bool:
    if shutil.which("unshare") is None:
        return False
    command = [*ANOTHER_HOST, "hostname edge"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not may_have_another_name(), reason="no host of another name can be started")
def test_runs_of_two_hosts_are_one(work: Path) -> None:
    assert run(*SWEEP, "--runtimes", "fake", "--out", "here")[0] == 0
    sweep_command = [
        sys.executable,
        "-m",
        "app",
        *SWEEP,
        "--runtimes",
        "fake,fpga:v80",
        "--out",
        "there",
    ]
    host_command = [*ANOTHER_HOST, 'hostname edge; exec "$@"', "sh", *sweep_command]
    result = subprocess.run(host_command, capture_output=True, encoding="utf-8", check=False)
    assert result.returncode == 0, result.stderr
    code, out, errors = run("merge", "here", "there", "--out", "both", "--export", "json")
    assert (code, errors) == (0, "")
    assert "  both/results.csv" in out
    table = rows(work / "both")
    local_host = read_run(work / "here").manifest.environment["host"]
    assert [(row["runtime"], row["host"]) for row in table] == [
        ("fake", local_host),
        ("fake", "edge"),
        ("fpga:v80", "edge"),
    ]
    parts = [row for name in ("here", "there") for row in rows(work / name)]
    row_by_host = {(row["runtime"], row["host"]): row for row in parts}
    for row in table:
        figures = [name for name in row if name.startswith("latency_") or name == "iterations"]
        part_row = row_by_host[row["runtime"], row["host"]]
        assert [row[name] for name in figures] == [part_row[name] for name in figures]
    assert not verify(work / "both").findings
    for command in (("resume", "both"), ("--headless", "--plan", "both")):
        code, _, errors = run(*command)
        assert code == 2
        assert "both was merged of runs of their own hosts (here, there)" in errors


def test_a_disk_that_is_full_leaves_no_half_of_a_run(work: Path) -> None:
    made(work / "here", machine("board"))
    merging = launch("merge", "here", "--out", "both", file_limit=2000)
    _, errors = merging.communicate()
    assert merging.returncode == 1
    message = "both can't be written (File too large): raise the limit on a file's size (ulimit -f)"
    assert f"{message}, or give another --out" in errors
    assert sorted(path.name for path in work.iterdir() if path.is_dir()) == ["here"]
    assert not verify(work / "here").findings


def test_what_is_damaged_is_told_and_the_rest_is_merged(work: Path) -> None:
    made(work / "here", machine("board"), NETS, rounds=1)
    next((work / "here" / "samples").iterdir()).unlink()
    code, out, _ = run("merge", "here", "--out", "both")
    assert code == 1
    assert "damaged and left out: here/samples/" in out
    assert sorted(row["status"] for row in rows(work / "both")) == ["not_run", "ok"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["merge", "absent"], "absent is no run folder"),
        (["merge", "=x"], "'=x' names no folder"),
        (["merge", "a", "--rounds", "3"], "--rounds: graphlap merge has no such option"),
        (["merge", "a", "--export", "word"], "--export word is not known"),
    ],
)
def test_what_can_not_be_merged_is_one_sentence(
    work: Path, words: list[str], sentence: str
) -> None:
    code, _, errors = run(*words)
    assert code == 2
    assert sentence in errors
