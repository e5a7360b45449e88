"""`python -m app --headless` takes what `graphlap run` takes, and words for other commands."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from app.commands.parsers import parse
from app.commands.table import BY_NAME
from app.commands.without_command import as_command
from app.run_folder.table import read_rows
from tests.app.sweep.sweeps import write_add_graph
from tests.checkout import ROOT

GRID = "--runtimes fake --batch 1,8 --threads 1 --option fake.wait=sleep"
RUN = "--rounds 2 --preset glance --budget 2m --out a --export csv,json"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (f"--models mlp {GRID} {RUN}", f"run --models mlp {GRID} {RUN}"),
        (f"--suite layers {GRID} {RUN}", f"run --suite layers {GRID} {RUN}"),
        (f"--plan plan.toml {RUN}", f"run --plan plan.toml {RUN}"),
        ("--study vollo --rounds 3 --out a", "study vollo --rounds 3 --out a"),
        ("--out a --study=vollo", "study vollo --out a"),
        ("--resume a --export csv", "resume a --export csv"),
        (f"--check --models mlp {GRID} --out a", f"check --models mlp {GRID} --out a"),
        (f"--suite layers {GRID} --out a --check", f"check --suite layers {GRID} --out a"),
    ],
)
def test_the_batch_mode_is_the_command_without_its_word(words: str, command: str) -> None:
    name, *rest = shlex.split(command)
    batch_name, *batch_words = as_command(["--headless", *shlex.split(words)])
    assert batch_name == name
    assert parse(BY_NAME[name], batch_words) == parse(BY_NAME[name], rest)


def test_it_measures_goes_on_and_checks_without_a_terminal(tmp_path: Path) -> None:
    graph = write_add_graph(tmp_path / "add.onnx", ("batch", 3))
    (tmp_path / "plan.toml").write_text(
        f'[[sweeps]]\nmodels = ["{graph}"]\nruntimes = ["fake"]\n', "utf-8"
    )
    grid = f"--runtimes fake --batch 1,2 --threads 1 --option fake.wait=sleep --models {graph}"
    shared = "--rounds 1 --preset glance --budget 1m"
    for words, folder, statuses in (
        (f"{grid} {shared} --out run --export csv", "run", ["ok", "ok"]),
        ("--resume run --export csv", "run", ["ok", "ok"]),
        (f"--plan plan.toml {shared} --out planned", "planned", ["ok"]),
        (f"{grid} --out checked --check", "checked", ["compiles", "compiles"]),
    ):
        command = [sys.executable, "-m", "app", "--headless", *shlex.split(words)]
        result = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        rows = read_rows(tmp_path / folder / "results.full.csv")
        assert [row["status"] for row in rows.values()] == statuses, words
