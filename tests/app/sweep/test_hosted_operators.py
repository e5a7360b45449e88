"""Operator times on other machines: each case is asked about where it was measured."""

from __future__ import annotations

import json
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from app.cases.column import Row
from app.remote.pipe_transport import PipedCarrier
from app.run_folder.folder import RunFolder
from app.run_folder.journal import DiscardedRound, Operators
from app.run_folder.ledger import Ledger
from app.run_folder.operators import read_operators
from app.runs.reader import read_run
from app.sweep.engine import Event, Started
from app.sweep.work.remote_rounds import HostedOperators
from tests.app.remote.hosts import agent_of, carrier_of
from tests.app.run_folder.runs import CASE, manifest_of
from tests.app.sweep.test_hosted import a_run, cluster_on, measured, once

FLAGS = ("--rounds", "1", "--op-times")


@pytest.fixture(autouse=True)
def _one_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHLAP_CACHE", str(cache))


def told_by(path: Path) -> dict[str, list[str]]:
    """Host -> the cases of which its journal has operator times."""
    cases_by_host: dict[str, list[str]] = {}
    for journal in (path / "journal").iterdir():
        writer, *lines = map(json.loads, journal.read_text().splitlines())
        cases = [line["case_id"] for line in lines if line["kind"] == "operators"]
        if cases:
            cases_by_host[writer["host"]] = cases
    return cases_by_host


def by_host(rows: list[Row]) -> dict[str, list[str]]:
    return {str(row["host"]): [str(row["case_id"])] for row in rows}


def test_every_host_tells_of_its_own_cases_and_one_that_is_lost_is_asked_again(
    tmp_path: Path,
) -> None:
    lost_hosts: list[str] = []

    def breaks(event: Event) -> None:
        work = getattr(event, "work", None)
        if isinstance(work, HostedOperators) and work.host == "b" and not lost_hosts:
            lost_hosts.append(work.host)
            agent_of(carrier, "b").kill()

    with carrier_of("a", "b") as carrier:
        cluster = cluster_on(carrier)
        flags = (*FLAGS, "--per-host", "--runtimes", "ort-cpu")
        with a_run(tmp_path, *flags, cluster=cluster) as folder:
            rows, left_out = measured(folder, cluster, breaks)
    assert [(row["status"], row["host"]) for row in rows] == [("ok", "a"), ("ok", "b")]
    assert (lost_hosts, left_out) == (["b"], [])
    assert told_by(tmp_path / "run") == by_host(rows)
    run = read_run(tmp_path / "run")
    for line in run.operators.values():
        assert not line.reason
        assert [op.op for op in read_operators(run.path, line).ops] == ["Add"]


@pytest.mark.rare
def test_what_a_host_that_is_not_there_measured_is_left_for_a_resume(tmp_path: Path) -> None:
    def goes(event: Event) -> None:
        """When it is asked, and for good."""
        if isinstance(event, Started) and isinstance(event.work, HostedOperators):
            with suppress(psutil.NoSuchProcess):
                agent_of(carrier, "a").kill()

    carrier = PipedCarrier({"a": once(tmp_path / "begun", "the board is off", "a")})
    with closing(carrier), a_run(tmp_path, *FLAGS) as folder:
        rows, _ = measured(folder, cluster_on(carrier), goes)
    assert [row["status"] for row in rows] == ["ok"]
    assert told_by(tmp_path / "run") == {}
    with carrier_of("b") as carrier, closing(RunFolder.reopen(tmp_path / "run")) as folder:
        rows, _ = measured(folder, cluster_on(carrier))
    assert told_by(tmp_path / "run") == {}, "b has not measured it"
    assert [(row["host"], row["rounds"]) for row in rows] == [("a", 1)], "nor does it again"
    with carrier_of("a") as carrier, closing(RunFolder.reopen(tmp_path / "run")) as folder:
        rows, _ = measured(folder, cluster_on(carrier))
    assert told_by(tmp_path / "run") == by_host(rows)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 0, 1), (1, 0, 2)])
def test_times_stand_and_fall_with_the_rounds_of_their_attempt(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    """The case moved to another machine, whose operators take another time."""
    lines = (
        Operators(CASE.case_id, total_us=1.0),
        DiscardedRound(CASE.case_id, 0, "its host is not at hand", 1),
        Operators(CASE.case_id, total_us=2.0, attempt=2),
    )
    ledger = Ledger(tmp_path, manifest_of())
    for number in order:
        ledger.take("a.jsonl", lines[number])
    assert ledger.run.operators[CASE.case_id].total_us == 2.0
