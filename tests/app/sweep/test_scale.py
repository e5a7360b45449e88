"""A sweep of very many cases: each is worked on once, and nothing is summed again and again.

What it takes in seconds and bytes, `python -m tests.benchmarks scale` tells.
"""

from __future__ import annotations

import random
from pathlib import Path

from app.cases.case import Case
from app.machine.environment import describe_host
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from app.run_folder.folder import RunFolder
from app.runs.reader import read_run
from app.sweep.engine import SETTLED_AT_ONCE, Completed
from app.sweep.run import SweepRun
from app.sweep.run_creation import create_run
from app.sweep.scheduling.round_budget import Tally
from app.sweep.work.round import SettledRound
from tests.app.run_folder.runs import CASE, ENVIRONMENT, OTHER, manifest_of, record
from tests.app.sweep.sweeps import write_add_graph

THREADS = tuple(range(1, 31))
BATCHES = tuple(range(1, 11))


def plan_of(folder: Path, precisions: tuple[str, ...] = ("fp32",)) -> Plan:
    """300 cases of each precision."""
    graph = write_add_graph(folder / "add.onnx", ("batch", 3))
    sweep = {"models": (str(graph),), "runtimes": ("fake",), "precisions": precisions}
    return Plan(sweeps=(Sweep(**sweep, batch_size=BATCHES, threads=THREADS),))  # type: ignore[arg-type]


def test_refusals_come_some_at_a_time_so_that_a_stop_is_heard(tmp_path: Path) -> None:
    with (
        create_run(plan_of(tmp_path, ("fp32", "bf16")), tmp_path / "run") as folder,
        SweepRun(folder, describe_host()) as run,
    ):
        events = run.step(0.0)
        settled_rounds = [
            e for e in events if isinstance(e, Completed) and isinstance(e.work, SettledRound)
        ]
        assert len(settled_rounds) == SETTLED_AT_ONCE < 300
        assert run.live.rounds_done == run.live.rounds_total - 4 * 300
        run.stop(now=True)
        while not run.finished:
            run.step(0.1)
        run.close(130)
    results_by_case = read_run(tmp_path / "run").rounds
    assert len(results_by_case) == SETTLED_AT_ONCE
    assert {r.status for rounds in results_by_case.values() for r in rounds.values()} == {
        "unsupported"
    }


def test_what_is_counted_is_what_a_sum_would_be() -> None:
    chance, tally = random.Random(5), Tally()
    targets: dict[str, int] = {}
    numbers: dict[str, set[int]] = {}
    finished_names: set[str] = set()
    for name in map(str, range(20)):
        targets[name], numbers[name] = chance.randrange(1, 6), set(chance.sample(range(8), 2))
        finished_names |= {name} if chance.random() < 0.2 else set()
        tally.add(name, targets[name], numbers[name], name in finished_names)
    for _ in range(500):
        name, number = str(chance.randrange(20)), chance.randrange(8)
        match chance.randrange(4):
            case 0:
                finished_names.add(name)
                tally.end(name)
            case 1:
                targets[name] = number
                tally.want(name, number)
            case _:
                assert tally.take(name, number) == (number not in numbers[name])
                numbers[name].add(number)
        lacking = {n: set(range(targets[n])) - numbers[n] for n in targets}
        assert tally.planned == sum(targets.values())
        assert tally.remaining == sum(len(lacking[n]) for n in targets if n not in finished_names)
        assert tally.lacks(name, number) == (name not in finished_names and number in lacking[name])


def test_what_a_killed_writer_was_writing_is_removed_by_the_next(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "run", manifest_of()).close()
    draft, notes = tmp_path / "run" / ".live.json.4711", tmp_path / "run" / ".notes"
    draft.write_text("{")
    notes.write_text("mine")
    with RunFolder.reopen(tmp_path / "run") as folder:
        assert draft.exists(), "a resume that is refused changes nothing"
        folder.begin(ENVIRONMENT)
    assert not draft.exists() and notes.exists()


def test_the_ledger_counts_what_its_rounds_say(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "run", manifest_of()) as folder:
        folder.begin(ENVIRONMENT)
        record(folder, CASE, 0, [10.0] * 8)
        record(folder, OTHER, 0, status="crashed")
        with SweepRun(folder, describe_host()) as run:
            assert run.live.cases_failed == 1
            assert (run.live.rounds_done, run.live.rounds_total) == (3, 4), "a crash ends its case"
            assert isinstance(run.cases[CASE.case_id], Case)
