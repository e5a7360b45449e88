"""What reads a run of several hosts reads each row by its own: doubts, verdicts, history, pages."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.analysis.columns.reference_cases import Baseline, compare_with_baseline
from app.analysis.columns.rows import Rows
from app.analysis.columns.tables import write_tables
from app.analysis.insights.quality import issues_of
from app.analysis.plot_data.matrix import pivot
from app.analysis.plot_data.series import facets
from app.analysis.plot_data.settings import settings
from app.cases.case import case_on_host, identity_test
from app.formatting.case_labels import labels
from app.run_folder.folder import RunFolder
from app.runs.following.reader import RunReader
from app.runs.history.run_comparison import compare_runs, side_of
from app.runs.history.trends import read_history
from app.runs.reader import read_run
from tests.app.run_folder.runs import CASE, PLAN, manifest_of
from tests.app.runs.machines import LARGE, NETS, SMALL, machine, made, measured


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of two hosts, of which one is a virtual machine."""
    hosts = {"board": SMALL, "server": LARGE}
    cases = [replace(case, host=host) for case in NETS for host in hosts]
    manifest = manifest_of(cases, 3, PLAN.model_copy(update={"baseline": "fake"}))
    RunFolder.create(tmp_path / "both", manifest).close()
    for us, (host, hardware) in zip((10.0, 5.0), hosts.items(), strict=True):
        with RunFolder.reopen(tmp_path / "both") as folder:
            folder.begin(machine(host, hardware))
            for number in range(3):
                for place, case in enumerate(case for case in cases if case.host == host):
                    measured(folder, case, number, us * (1 + 0.01 * number) + place)
            write_tables(folder, Rows().of(read_run(folder.path)))
    return tmp_path / "both"


def test_a_host_is_one_more_thing_by_which_rows_differ(run: Path) -> None:
    with closing(RunReader(run)) as reader:
        state = reader.poll()
    assert state is not None
    series = state.series
    (host,) = (entry for entry in settings(series) if entry.key == "host")
    assert [host.value(entry) for entry in series] == ["board", "server"] * 2
    assert set(facets(series)["host"].values()) == {"on board", "on server"}
    table = pivot(series, "runtime", "host", "latency_p50_us", highest=False)
    assert table.columns == ("board", "server")
    assert [round(cell.ratio or 0, 2) for cell in table.cells if cell.row == 0] == [2.0, 1.0]
    issues = issues_of(series, state.environments, True)
    (virtual,) = (issue for issue in issues if issue.code == "virtual_machine")
    assert virtual.rows == 2 and 'host="server"' in virtual.query
    trends = read_history(run).trends
    assert {(trend.host, trend.cpu) for trend in trends} == {("board", "A76"), ("server", "EPYC")}
    assert {trend.case_id for trend in trends} == {case.case_id for case in NETS}
    alone, here = CASE, replace(CASE, host="board")
    assert replace(alone, host="").case_id == alone.case_id != here.case_id
    assert labels([here]) == {here.case_id: "add · fake"}, "told where cases differ in it"


def test_a_baseline_is_that_of_the_same_host(run: Path) -> None:
    rows = Rows().measured(read_run(run))
    names = {entry.case.case_id: entry.row["host"] for entry in rows}
    columns = Baseline.fill(read_run(run).manifest.requested_plan, rows)
    assert len(columns) == 2
    assert all(names[key] == names[str(row["baseline_case_id"])] for key, row in columns.items())
    comparison = compare_with_baseline(read_run(run).manifest.requested_plan, rows, "")
    assert comparison is not None
    assert [entry.label[-9:] for entry in comparison.cases] == [" on board", "on server"]


def test_a_run_of_hosts_is_compared_with_one_of_a_host(run: Path, tmp_path: Path) -> None:
    a = side_of(read_run(made(tmp_path / "runs" / "a", machine("board"), NETS)))
    both = side_of(read_run(run))
    comparison = compare_runs(a, both)
    assert len(comparison.cases) == 2
    assert comparison.only_second == ("add · fake · on server", "add · ort-cpu · on server")
    assert ("hosts", "board", "board, server") in comparison.environment
    assert len(compare_runs(both, both).cases) == 4
    same = identity_test([(NETS[0], "board")])
    assert [same(case.case, case.row["host"]) for case in both.cases] == [True, False, False, False]
    of_host = case_on_host(NETS[0], "board")
    assert [case_on_host(of_host, "server"), case_on_host(NETS[0], "")] == [of_host, NETS[0]]
    by_host = identity_test([(of_host, "board")])
    assert [by_host(NETS[0], host) for host in ("board", "server")] == [True, False]
    read = read_run(run)
    assert replace(read, parts={"a": replace(read, path=Path("a"))}).paths == (Path("a"),)
