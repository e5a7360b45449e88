"""Arguments that no call of the interface can use are refused by one sentence, before any work."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.benchmark import load_results
from app.interface.run import compare, run, slo, tune
from app.notebook import open as open_run
from app.runs.reader import read_run
from exporters.types import GraphlapError


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path) -> None:
    monkeypatch.setenv("GRAPHLAP_CONFIG", "none")
    monkeypatch.setenv("GRAPHLAP_CACHE", str(cache))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "call",
    [
        lambda: slo("mlp", None),  # type: ignore[arg-type]
        lambda: tune("mlp", None),  # type: ignore[arg-type]
        lambda: run("mlp", out="a\0b"),
        lambda: run("mlp", against="a\0b"),
        lambda: run("mlp", export=3),  # type: ignore[arg-type]
        lambda: run("mlp", export=[3]),  # type: ignore[list-item]
        lambda: open_run(None),  # type: ignore[arg-type]
        lambda: open_run("a\0b"),
        lambda: load_results(3),  # type: ignore[arg-type]
        lambda: load_results([None]),  # type: ignore[list-item]
        lambda: load_results("a\0b"),
        lambda: compare("a\0b", "b"),
    ],
)
def test_what_cannot_be_used_is_refused(call: Callable[[], object], tmp_path: Path) -> None:
    with pytest.raises(GraphlapError) as exc_info:
        call()
    assert exc_info.value.remedy
    assert not list(tmp_path.iterdir())


def test_an_interrupt_reaches_the_caller_once_the_run_is_stored(
    brief: None, tmp_path: Path
) -> None:
    out = tmp_path / "run"

    def interrupt() -> None:
        while len(list((out / "samples").glob("*.bin"))) < 2:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        run("mlp", runtimes="fake", threads=[1, 2, 3, 4], rounds=20, out=out)
    stored = read_run(out)
    rounds = sum(len(stored.rounds_of(case)) for case in stored.cases)
    assert 0 < rounds < 4 * 20
    assert (out / "results.csv").is_file()
