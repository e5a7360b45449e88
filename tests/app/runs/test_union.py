"""Run folders read as one run: each row of its own host, each round once, nothing lost."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from app.__main__ import main
from app.analysis.columns.rows import Rows
from app.cases.case import Case
from app.cases.errors import PlanError, ResultsError
from app.cases.jobs import PHASES, AccuracyResult, ColdStart, Operator, OperatorTimes, subject_of
from app.cases.jobs import cold_start_subject_of as cold_subject_of
from app.cases.round import RoundResult
from app.cases.telemetry import Reading
from app.cli.notebook import open as open_run
from app.formatting.case_labels import labels
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.folder import RunFolder
from app.run_folder.journal import ModelExported, SearchCase
from app.run_folder.operators import read_operators, write_operators
from app.run_folder.run import Run
from app.run_folder.telemetry import readings_path
from app.runs.reader import read_run
from app.runs.union import read_runs
from exporters.diagnostics import diagnostic
from tests.app.run_folder.runs import CASE, manifest_of, record
from tests.app.runs.machines import LARGE, NETS, OTHER, SMALL, hosts, machine, made, measured
from tests.app.sweep.sweeps import exported_add


def union(*folders: str | Path) -> Run:
    return read_runs([str(folder) for folder in folders])[0]


def test_the_same_case_on_two_hosts_stands_side_by_side(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"), NETS)
    b = made(tmp_path / "b", machine("server", LARGE), NETS, us=5.0)
    run = union(a, b)
    names = [(runtime, host) for runtime in ("fake", "ort-cpu") for host in ("board", "server")]
    assert hosts(run) == [("add.onnx", *name) for name in names]
    told = [f"add · {runtime} · on {host}" for runtime, host in names]
    assert [*labels(run.cases).values()] == told
    assert [run.environment_of(case)["cpu"] for case in run.cases[:2]] == ["A76", "EPYC"]
    assert [len(run.rounds_of(case)) for case in run.cases] == [3] * 4
    ids = [read_run(path).manifest.run_id for path in (a, b)]
    assert [row["run_id"] for row in Rows().of(run)] == ids * 2
    notebook = open_run(a, f"edge={b}")
    assert list(notebook.rows["host"]) == ["board", "edge"] * 2
    assert len(notebook.samples()) == 4 * 3 * 8
    with pytest.raises(PlanError, match="are of run"):
        notebook.compare(a)


def test_rounds_of_two_runs_are_not_one_measurement(tmp_path: Path) -> None:
    """An interval tells how processes of one run differ, and these lie at other times."""
    a = made(tmp_path / "a", machine("board"))
    b = made(tmp_path / "b", machine("board"))
    with pytest.raises(ResultsError, match="measured twice on one host") as exc_info:
        union(a, b)
    assert str(a) in str(exc_info.value)
    assert str(b) in str(exc_info.value)
    run = union(f"monday={a}", f"friday={b}")
    assert [host for _, _, host in hosts(run)] == ["monday", "friday"]
    run = union(a, made(tmp_path / "other", machine("board"), [OTHER]))
    assert [case.case_id for case in run.cases] == [CASE.case_id, OTHER.case_id], "without a host"
    assert [row["host"] for row in Rows().of(run)] == ["board", "board"]
    assert run.manifest.environment == machine("board")
    with pytest.raises(ResultsError, match="check is a check"):
        union(made(tmp_path / "check", machine("server", LARGE), check=True), a)


def test_two_machines_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    """What one run could not measure gives way to what another did."""
    a = made(tmp_path / "a", machine("localhost"))
    b = made(tmp_path / "b", machine("localhost", LARGE))
    run = union(a, b)
    assert [host for _, _, host in hosts(run)] == ["localhost (a)", "localhost (b)"]
    assert "NAME=FOLDER" in run.notes[0]
    little_less = machine("localhost", {**SMALL, "memory_bytes": (4 << 30) - (64 << 20)})
    d = made(tmp_path / "d", little_less, [OTHER, CASE], rounds=0)
    with RunFolder.reopen(d) as folder:
        folder.begin(little_less)
        record(folder, CASE, 0, status="unavailable", started_at_utc="2026-11-22T12:00:00.000")
    run = union(a, d)
    assert {host for _, _, host in hosts(run)} == {"localhost"}
    assert [result.status for result in run.rounds_of(CASE)] == ["ok"] * 3


def test_a_copy_counts_once_and_two_that_were_resumed_apart_are_refused(tmp_path: Path) -> None:
    """A journal keeps the name that its host was given."""
    a = made(tmp_path / "a", machine("localhost"), rounds=2)
    other = made(tmp_path / "other", machine("server", LARGE))
    for name in ("b", "b2"):
        shutil.copytree(a, tmp_path / name)
        with RunFolder.reopen(tmp_path / name) as folder:
            folder.begin(machine("localhost"))
            measured(folder, CASE, 2, 12.0 + len(name))
    run = union(a, tmp_path / "b")
    assert [result.round for result in run.rounds_of(CASE)] == [0, 1, 2]
    assert run.notes == ("2 rounds that several folders have count once",)
    with pytest.raises(ResultsError, match="resumed apart"):
        union(tmp_path / "b", tmp_path / "b2")
    next((a / "samples").glob("*.1.bin")).unlink()
    run = union(a, f"board={tmp_path / 'b'}", other)
    assert [(row["host"], row["rounds"]) for row in Rows().of(run)] == [("board", 3), ("server", 3)]
    assert run.run_ids >= {read_run(path).manifest.run_id for path in (a, other)}


def test_each_row_is_read_under_the_plan_that_it_was_measured_by(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"), seed=1, deadline_us=9.0, graphlap_version="0.1.7")
    b = made(tmp_path / "b", machine("server", LARGE), seed=2, rounds=2, percentiles=(50.0, 75.0))
    run = union(a, b)
    board, server = Rows().of(run)
    assert (board["seed"], server["seed"]) == (1, 2)
    assert (board["deadline_miss_rate"], server["deadline_miss_rate"]) == (1.0, None)
    assert board["graphlap_version"] == "0.1.7"
    assert "rounds_missing" not in f"{board['warning_codes']}{server['warning_codes']}"
    assert board["latency_p75_us"] is not None
    for sentence in (
        "differs: seed is 1 in a, 2 in b",
        "differs: deadline_us is 9.0 in a, none in b",
        "differs: rounds is 3 in a, 2 in b",
    ):
        assert sentence in run.notes
    assert any(line.startswith("differs: graphlap_version is 0.1.7 in a") for line in run.notes)


def test_what_is_known_beside_the_rounds_goes_with_them(tmp_path: Path) -> None:
    model, search_case = exported_add(tmp_path), Case("add.onnx", "fake", axes={"batch": 8})
    case = Case("add.onnx", "fake", axes={"batch": 4})
    a = made(tmp_path / "a", machine("board"), [case])
    with RunFolder.reopen(a) as folder:
        folder.begin(machine("board"))
        folder.record(ModelExported("add.onnx", "fp32", model))
        folder.record(SearchCase(search_case))
        record(folder, search_case, 0, [20.0] * 4)
        folder.record_readings(
            search_case.case_id, 0, [Reading(time_ns=1, device="cpu", power_w=3.0)]
        )
        folder.record(AccuracyResult(subject_of(case, model).case_id, "digits", 0.5, 10))
        folder.record(ColdStart(cold_subject_of(case).case_id, 0, dict.fromkeys(PHASES, 1.0)))
        times = OperatorTimes(case.case_id, ops=(Operator("n", "Add", 1.0, "add"),), runs=2)
        folder.record(write_operators(folder, times))
    b = made(tmp_path / "b", machine("server", LARGE), [case], rounds=0)
    with RunFolder.reopen(b) as folder:
        folder.begin(machine("server", LARGE))
        folder.record(ModelExported("add.onnx", "fp32", replace(model, sha256="b" * 64)))
        measured(folder, case, 0, 10.0)
    run = union(a, b)
    board, server = run.manifest.cases
    rows = [row for row in Rows().of(run) if row["case_id"] in (board.case_id, server.case_id)]
    assert [row["model_sha256"] for row in rows] == ["0" * 64, "b" * 64]
    told = "differs: the graph of add.onnx in fp32 is 000000000000 in a, bbbbbbbbbbbb in b"
    assert told in run.notes
    (also,) = run.tried
    assert (also.axes, also.host) == ({"batch": 8}, "board")
    assert run.model_of(board) == model
    assert (
        run.result_of(AccuracyResult, board) is not None,
        run.result_of(AccuracyResult, server),
    ) == (True, None)
    assert [cold.process for cold in run.results_of(ColdStart, board)] == [0]
    assert not run.results_of(ColdStart, server)
    assert read_operators(run.path, run.operators[board.case_id]).ops == times.ops
    assert readings_path(run, run.rounds_of(also)[0]).is_file()


def test_what_is_damaged_is_left_out_and_told(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"))
    b = made(tmp_path / "b", machine("server", LARGE))
    (journal,) = (a / "journal").iterdir()
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join([*lines[:2], "{damaged\n", *lines[3:]]))
    next((b / "samples").glob("*.1.bin")).unlink()
    run, damage = read_runs([str(a), str(b)])
    assert [row["rounds"] for row in Rows().of(run)] == [2, 2]
    assert len(damage) == 2
    assert f"journal/{journal.name} line 3 is damaged" in damage[0]
    assert str(b) in damage[1] and "can't be read" in damage[1]


def test_a_run_that_went_on_elsewhere_is_of_two_hosts(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"), rounds=2)
    with RunFolder.reopen(a) as folder:
        folder.begin(machine("server", LARGE))
        measured(folder, CASE, 2, 5.0)
    (row,) = Rows().of(read_run(a))
    assert diagnostic("several_hosts", hosts=("board", "server")) in diagnostics_of(row)
    with pytest.raises(PlanError, match="several hosts, board, server"):
        union(f"z={a}", made(tmp_path / "b", machine("x"), [OTHER]))
    rows = Rows().of(union(a, made(tmp_path / "c", machine("board"), [OTHER])))
    assert [(row["host"], row["rounds"]) for row in rows] == [
        ("board", 2),
        ("server", 1),
        ("board", 3),
    ]


def test_what_is_not_of_a_folder_is_not_read(tmp_path: Path) -> None:
    """A folder may come from a stranger: neither by a link, nor as samples that nothing vouches
    for, is a file of somebody else's shown. A link within the folder is followed."""
    secret = tmp_path / "secret"
    secret.write_bytes(b"mine alone\n" * 8)
    with RunFolder.create(tmp_path / "a", manifest_of((CASE, OTHER), rounds=4)) as folder:
        folder.begin(machine("board"))
        for number in range(3):
            measured(folder, CASE, number, 10.0)
        bare = RoundResult(OTHER.case_id, 0, "ok", samples=f"{OTHER.case_id}.0.bin")
        (folder.samples / bare.samples).write_bytes(secret.read_bytes()[:32])
        folder.record(bare)
        telemetry = folder.path / "telemetry"
        telemetry.mkdir(exist_ok=True)
        (telemetry / f"{CASE.case_id}.0.jsonl").symlink_to(secret)
        shutil.copy(folder.samples / f"{CASE.case_id}.1.bin", tmp_path / "elsewhere.bin")
        (folder.samples / f"{CASE.case_id}.1.bin").unlink()
        (folder.samples / f"{CASE.case_id}.1.bin").symlink_to(tmp_path / "elsewhere.bin")
        (folder.samples / f"{CASE.case_id}.2.bin").rename(folder.path / "kept.bin")
        (folder.samples / f"{CASE.case_id}.2.bin").symlink_to("../kept.bin")
    run, damage = read_runs([str(tmp_path / "a")], unite=True)
    assert [result.round for result in run.rounds_of(CASE)] == [2]
    assert not run.rounds_of(OTHER)
    for name in (f"{CASE.case_id}.0.jsonl", f"{CASE.case_id}.1.bin", bare.samples):
        assert any(name in sentence for sentence in damage)


def test_files_of_several_runs_go_to_a_folder_of_their_own(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"))
    b = made(tmp_path / "b", machine("server", LARGE), us=5.0)
    before = sorted(path for path in tmp_path.rglob("*"))
    words = ["export", "-f", "csv,json,markdown,trace", str(a), str(b)]
    assert main(words) == 2
    assert main([*words, "-o", str(b)]) == 2
    assert sorted(path for path in tmp_path.rglob("*")) == before
    out = tmp_path / "new" / "both"
    assert main([*words, "-o", str(out)]) == 0
    assert (out / "samples.csv").read_text().count("\n") == 1 + 2 * 3 * 8
    assert (out / "hosts.csv").read_text().count("\n") == 4
    assert len(list((out / "trace").iterdir())) == 6
    one = tmp_path / "one"
    assert main(["export", "-f", "csv", str(a), "-o", str(one)]) == 0
    own, there = ((path / "results.full.csv").read_text() for path in (a, one))
    assert own == there
