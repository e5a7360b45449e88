"""What commands return of runs with faults: each cell of the table in docs/faults.md, tried."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from app.cases.case import Case
from app.run_folder.folder import RunFolder
from app.run_folder.journal import ModelExported
from tests.app.cli.headless.batch import run
from tests.app.cli.headless.faulty_runs import (
    FAST_US,
    SLOW_US,
    ended,
    made,
    other_clock,
    plan_of,
    with_cut_samples,
    without_a_case,
)
from tests.app.run_folder.runs import CASE, ENVIRONMENT, OTHER, damage_line, manifest_of, record
from tests.app.runs.history.pasts import nights_at
from tests.app.sweep.sweeps import exported_add, write_add_graph
from tests.checkout import ROOT

PAGE = ROOT / "docs" / "faults.md"
GATE = ("--fail-on", "slower", "--json", "gate.json")
BASELINE = f"fake.latency_us={SLOW_US:g}"
NONE = "-"


def cells() -> Iterator[tuple[str, str, str]]:
    """Of each cell its command, its fault and what it says."""
    _, _, section = PAGE.read_text("utf-8").partition("\n## What a command returns\n")
    lines = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("|")]
    heading, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    for command, *codes in rows:
        for fault, code in zip(heading[1:], codes, strict=True):
            yield command.strip("`"), fault, code.strip("`")


CELLS = list(cells())


@dataclass(frozen=True)
class Runs:
    """`whole` and `other` have two cases of three rounds, `paired` the same with a baseline, made
    by hand; `measured` has really been measured, with a baseline and a file of inputs."""

    folder: Path
    whole: Path
    other: Path
    paired: Path
    measured: Path

    def copy(self, source: Path, name: str) -> Path:
        return Path(shutil.copytree(source, self.folder / name))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Runs]:
    folder = tmp_path_factory.mktemp("faults")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAPHLAP_CACHE", str(cache))
        patch.setenv("COLUMNS", "400")
        patch.chdir(folder)
        graph = write_add_graph(folder / "add.onnx")
        np.savez(folder / "in.npz", x=np.ones((2, 3), np.float32))
        whole = made(folder / "whole", plan_of(graph))
        other = made(folder / "other", plan_of(graph))
        paired_run = made(folder / "paired", plan_of(graph, baseline=BASELINE))
        assert measure("measured", "--baseline", BASELINE) == 0
        yield Runs(folder, whole, other, paired_run, folder / "measured")


def measure(name: str, *more: str) -> int:
    """The same two cases, really measured, of whatever `add.onnx` holds now."""
    latencies = f"fake.latency_us={SLOW_US:g},{FAST_US:g}"
    arguments = ("--models", "add.onnx", "--runtimes", "fake", "--option", latencies)
    lengths = ("--inputs", "in.npz", "--rounds", "3", "--preset", "glance")
    return run("--headless", *arguments, *lengths, *more, "--out", name)[0]


def code_of(*command: object) -> int:
    """The exit code; what a gate wrote agrees with it."""
    answer = Path("gate.json")
    answer.unlink(missing_ok=True)
    code = run(*map(str, command))[0]
    if answer.exists():
        gate = json.loads(answer.read_text("utf-8"))["gate"]
        assert gate["exit_code"] == code
        assert bool(gate["reasons"]) == (code == 1)
    return code


def verify(runs: Runs, fault: str) -> int:
    if fault == "changed":
        copy = runs.copy(runs.measured, "verify")
        (stored_file,) = (copy / "files").iterdir()
        stored_file.write_bytes(stored_file.read_bytes()[:-1])
    else:
        copy = faulty(runs, fault)
    return code_of("verify", copy)


def resume(runs: Runs, fault: str) -> int:
    if fault == "changed":
        partial_run = without_a_case(runs.measured, runs.folder / "resume")
        with other_graph(runs):
            return code_of("resume", partial_run)
    return code_of("resume", faulty(runs, fault))


def compare(runs: Runs, fault: str) -> int:
    if fault == "changed":
        with other_graph(runs):
            assert measure("compared") == 0
        return code_of("compare", runs.measured, "compared", *GATE)
    return code_of("compare", runs.whole, faulty(runs, fault), *GATE)


def baseline(runs: Runs, fault: str) -> int:
    graph = runs.folder / "add.onnx"
    if fault == "changed":
        with other_graph(runs):
            return code_of("--headless", "--plan", runs.measured, "--out", "again", *GATE)
    if fault == "nothing in common":
        return measure("none", "--baseline", "ort-cpu", *GATE)
    if fault == "damaged":
        cut = with_cut_samples(runs.paired, runs.folder / "cut")
        # What was written beforehand names another release than the one that measures the rest.
        return code_of("resume", cut, *GATE, "--allow-mixed")
    rounds = 2 if fault == "too few rounds" else 3
    facts = {
        "lost": ended("crashed"),
        "unsupported": ended("unsupported"),
        "other clock": other_clock,
    }
    host = "elsewhere" if fault == "other host" else ""
    plan = plan_of(graph, baseline=BASELINE, rounds=rounds)
    path = runs.folder / f"paired {fault}"
    return code_of("resume", made(path, plan, facts.get(fault, lambda _: {}), host), *GATE)


def baseline_run(runs: Runs, fault: str) -> int:
    if fault == "changed":
        with other_graph(runs):
            return measure("against", "--against", str(runs.measured), *GATE)
    return code_of("resume", runs.whole, "--against", faulty(runs, fault), *GATE)


def history(runs: Runs, fault: str) -> int:
    folder = runs.folder / f"history {fault}"
    few = fault == "too few rounds"
    nights = nights_at(folder, [1.0] * (5 if few else 12))
    if fault == "lost":
        without_a_case(nights[-1], folder / "newest")
        shutil.rmtree(nights[-1])
    elif fault == "damaged":
        (nights[-1] / "results.full.csv").unlink()
        damage_line(nights[-1], 3)
    elif not few:
        newest_night(folder / "newest", fault)
    return code_of("history", folder, *GATE)


def newest_night(path: Path, fault: str) -> None:
    """A run after all others, of the same two cases but for the fault."""
    cases = (CASE, OTHER)
    if fault == "nothing in common":
        cases = (replace(CASE, model="x.onnx"), replace(OTHER, model="y.onnx"))
    host = {"host": "elsewhere"} if fault == "other host" else {}
    environment = {**ENVIRONMENT, "cpu": "a processor", **host}
    manifest = replace(
        manifest_of(cases, 3),
        environment=environment,
        created_at_utc="2026-04-01T02:00:00.000+00:00",
    )
    with RunFolder.create(path, manifest) as folder:
        folder.begin(environment)
        if fault == "changed":
            folder.record(ModelExported(CASE.model, "fp32", exported_add(path)))
        for case, level_us in zip(cases, (100.0, 200.0), strict=True):
            record_night(folder, case, level_us, fault)


def record_night(folder: RunFolder, case: Case, level_us: float, fault: str) -> None:
    if fault == "unsupported" and case == CASE:
        record(folder, case, 0, [], "unsupported", reason="it says so")
        return
    clock = "simulated" if fault == "other clock" and case == CASE else "wall"
    for number in range(3):
        samples_us = [level_us * (1.0 + 0.0001 * k) for k in range(400)]
        record(folder, case, number, samples_us, clock=clock)


def faulty(runs: Runs, fault: str) -> Path:
    """A run with this fault beside `whole`, made once."""
    graph, path = runs.folder / "add.onnx", runs.folder / f"faulty {fault}"
    shutil.rmtree(path, ignore_errors=True)
    make: dict[str, Callable[[], Path]] = {
        "lost": lambda: without_a_case(runs.other, path),
        "damaged": lambda: with_cut_samples(runs.other, path),
        "unsupported": lambda: made(path, plan_of(graph), ended("unsupported")),
        "too few rounds": lambda: made(path, plan_of(graph, rounds=2)),
        "other clock": lambda: made(path, plan_of(graph), other_clock),
        "other host": lambda: made(path, plan_of(graph), host="elsewhere"),
        "nothing in common": lambda: made(path, plan_of(graph, latencies_us=(900.0,))),
    }
    return make[fault]()


@contextmanager
def other_graph(runs: Runs) -> Iterator[None]:
    """While it lasts, `add.onnx` adds 2 to its input and not 1."""
    path = runs.folder / "add.onnx"
    content = path.read_bytes()
    first_bytes, two = (np.float32(value).tobytes() for value in (1.0, 2.0))
    assert content.count(first_bytes) == 1
    path.write_bytes(content.replace(first_bytes, two))
    try:
        yield
    finally:
        path.write_bytes(content)


COMMANDS: dict[str, Callable[[Runs, str], int]] = {
    "graphlap verify": verify,
    "graphlap resume": resume,
    "graphlap compare": compare,
    "--baseline": baseline,
    "--against": baseline_run,
    "graphlap history": history,
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "fault", "says"),
    CELLS,
    ids=[f"{cell[0].split()[-1].lstrip('-')}-{cell[1]}" for cell in CELLS],
)
def test_a_command_returns_what_the_table_says(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, command: str, fault: str, says: str
) -> None:
    monkeypatch.chdir(runs.folder)
    if says == NONE:
        assert command in ("graphlap verify", "graphlap resume") and fault == "nothing in common"
        return
    assert COMMANDS[command](runs, fault) == int(says)


def test_the_table_has_a_cell_for_each_command_and_fault() -> None:
    faults = "lost,damaged,changed,unsupported,too few rounds,other clock,other host"
    columns = (*faults.split(","), "nothing in common")
    expected = {(command, fault) for command in COMMANDS for fault in columns}
    assert {(command, fault) for command, fault, _ in CELLS} == expected
    assert len(CELLS) == len(expected)
    assert all(re.fullmatch(r"[0123]|-", says) for _, _, says in CELLS)
