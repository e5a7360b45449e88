"""The job of the documentation, run as it stands there: who passes, who fails, who is warned."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from pathlib import Path

import pytest

from exporters import install_layout
from tests.checkout import ROOT
from tests.layers import write_layers
from tests.processes import Ended, ended

PAGE = ROOT / "docs" / "continuous-integration.md"


def step(name: str) -> str:
    """The script of one step of the job."""
    page = PAGE.read_text("utf-8")
    match = re.search(rf"- name: {name}\n(?:.*\n)*?        run: \|\n((?:          .*\n)+)", page)
    assert match is not None, name
    return textwrap.dedent(match[1])


def write_graph(path: Path, layers: int) -> None:
    path.parent.mkdir()
    write_layers(path, layers)


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runner's folder with the two commands, in which the old graph is checked out."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, module in (("graphlap", f"-m {install_layout.module_name('app')}"), ("python", "")):
        script = commands / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n')
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(install_layout.ROOT))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    write_graph(tmp_path / "old" / "net.onnx", 2)
    return tmp_path


def run(script: str, folder: Path) -> Ended:
    # What GitHub runs a step with.
    return ended("bash", "-e", "-o", "pipefail", "-c", script, cwd=folder, timeout=300)


def measure(folder: Path, rounds: int) -> int:
    script = step("measure")
    assert "--rounds 8" in script
    process = run(script.replace("--rounds 8", f"--preset brief --rounds {rounds}"), folder)
    assert process.returncode in (0, 3), process.stderr
    return process.returncode


@pytest.mark.alone
def test_a_slowed_graph_fails_the_job(job: Path) -> None:
    write_graph(job / "new" / "net.onnx", 24)  # so slow that no neighbour on the machine hides it
    assert measure(job, 3) == 3
    summary = (job / "summary.md").read_text("utf-8")
    lines = summary.splitlines()
    assert lines[0] == "## against old/net.onnx, round by round"
    heading, _, counts = lines[2].rpartition(": ")
    assert heading == "1 case against old/net.onnx: 1 compared; 2 verdicts"
    assert "slower" in counts, "p50; p99 may be undecided on a noisy machine"
    page = PAGE.read_text("utf-8")
    assert all(line in page for line in (lines[0], heading, *lines[4:6])), "the page shows another"
    assert "| new/net.onnx · ort-cpu | p50 |" in summary and "| slower |" in summary
    verdicts = json.loads((job / "verdicts.json").read_text("utf-8"))
    assert verdicts["cases"][0]["percentiles"]["p50"]["verdict"] == "slower"
    assert verdicts["cases"][0]["percentiles"]["p50"]["ratio"] > 2
    assert 'failures="' in (job / "verdicts.xml").read_text("utf-8")


@pytest.mark.alone
def test_the_same_graph_passes_the_job(job: Path) -> None:
    write_graph(job / "new" / "net.onnx", 2)
    if measure(job, 3) != 0:  # one verdict in forty may be wrong so; of two in a row, one in 1,600
        shutil.rmtree(job / "run")
        assert measure(job, 3) == 0
    verdicts = json.loads((job / "verdicts.json").read_text("utf-8"))
    assert not verdicts["counts"]["slower"]
    verdicts["counts"]["undecided"] = 1
    (job / "verdicts.json").write_text(json.dumps(verdicts), "utf-8")
    warning_step = run(step("warn"), job)
    assert warning_step.returncode == 0, warning_step.stderr
    assert warning_step.stdout.startswith("::warning title=latency::1 undecided: more rounds")
