"""Runs of several machines as one: each row of its own host, each round once, nothing lost."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from app.__main__ import main
from app.cases.case import Case
from app.cases.errors import PlanError, ResultsError
from app.cases.jobs import PHASES, AccuracyResult, ColdStart, Operator, OperatorTimes, subject_of
from app.cases.jobs import cold_start_subject_of as cold_subject_of
from app.cases.telemetry import Reading
from app.columns.rows import Rows
from app.comparison.ranking import fastest
from app.formatting.case_labels import labels
from app.run_folder.diagnostics import diagnostics_of
from app.run_folder.folder import RunFolder
from app.run_folder.journal import ModelExported, SearchCase
from app.run_folder.operators import read_operators, write_operators
from app.runs.merging.sources import read_source
from app.runs.reader import read_run
from app.runs.verify import verify
from exporters.diagnostics.catalogue import diagnostic
from tests.app.run_folder.resealed import reseal_journal, reseal_manifest
from tests.app.run_folder.runs import CASE, record
from tests.app.runs.merging.machines import (
    LARGE,
    NETS,
    OTHER,
    SMALL,
    hosts,
    machine,
    made,
    measured,
    merged,
)
from tests.app.sweep.sweeps import exported_add


def test_machines_of_a_merged_run_are_added_and_one_under_two_names_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = made(tmp_path / "a", machine("board"))
    b = made(tmp_path / "b", machine("server", LARGE), us=5.0)
    assert main(["merge", str(a), str(b), "--out", str(tmp_path / "both")]) == 0
    output = capsys.readouterr().out
    assert "hosts together" in output
    shares = dict(re.findall(r"^ *(server|board) +\S+/s +(\d+)%", output, re.MULTILINE))
    assert shares == {"server": "67", "board": "33"}
    assert (tmp_path / "both" / "hosts.csv").read_text().count("\n") == 4
    again = made(tmp_path / "friday", machine("board"), us=12.0)
    words = [f"monday={a}", f"friday={again}"]
    assert main(["merge", *words, "--out", str(tmp_path / "week")]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "monday and friday are board both and alike: they may be one machine" in output


def test_the_same_case_on_two_hosts_stands_side_by_side(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"), NETS)
    b = made(tmp_path / "b", machine("server", LARGE), NETS, us=5.0)
    run = merged(tmp_path / "c", a, b).run
    assert hosts(run) == [
        ("add.onnx", "fake", "board"),
        ("add.onnx", "fake", "server"),
        ("add.onnx", "ort-cpu", "board"),
        ("add.onnx", "ort-cpu", "server"),
    ]
    assert list(labels(run.cases).values())[:2] == [
        "add · fake · on board",
        "add · fake · on server",
    ]
    assert [run.environment_of(case)["cpu"] for case in run.cases[:2]] == ["A76", "EPYC"]
    report = verify(run.path)
    assert not report.findings
    assert report.rounds == 2 * 2 * 3


def test_a_sample_is_what_was_measured_and_takes_no_room(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"))
    b = made(tmp_path / "b", machine("server", LARGE))
    run = merged(tmp_path / "c", a, b).run
    first_rounds = {case.host: run.rounds_of(case)[0] for case in run.cases}
    source_round = read_run(a).rounds_of(CASE)[0]
    sample = run.path / "samples" / first_rounds["board"].samples
    assert sample.read_bytes() == (a / "samples" / source_round.samples).read_bytes()
    assert sample.stat().st_nlink == 2
    assert first_rounds["board"] == replace(
        source_round, case_id=first_rounds["board"].case_id, samples=sample.name
    )


def test_what_was_measured_on_one_host_has_no_host_in_its_name(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"), [CASE])
    b = made(tmp_path / "b", machine("board"), [OTHER])
    run = merged(tmp_path / "c", a, b).run
    assert [case.case_id for case in run.cases] == [CASE.case_id, OTHER.case_id]
    assert [row["host"] for row in Rows().of(run)] == ["board", "board"]
    assert run.manifest.environment == machine("board")


def test_a_round_that_several_folders_have_is_there_once(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"))
    b = made(tmp_path / "b", machine("server", LARGE))
    c = merged(tmp_path / "c", a, b).run
    again = merged(tmp_path / "again", a, c.path, a)
    assert [case.case_id for case in again.run.cases] == [case.case_id for case in c.cases]
    assert verify(again.run.path).rounds == verify(c.path).rounds == 6
    assert again.sentences[0] == "6 rounds that several folders have are there once"
    assert {part.run_id for part in again.run.manifest.merged} == {
        part.run_id for part in c.manifest.merged
    }
    journals = [
        sorted(path.name for path in (r.path / "journal").iterdir()) for r in (c, again.run)
    ]
    assert journals[0] == journals[1]


def test_a_host_that_was_given_a_name_keeps_it_wherever_its_journal_lies(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("localhost"))
    b = made(tmp_path / "b", machine("server", LARGE))
    c = merged(tmp_path / "c", ("board", a), b).run
    again = merged(tmp_path / "again", c.path, a).run
    assert {host for _, _, host in hosts(again)} == {"board", "server"}
    assert len(again.cases) == 2


def test_rounds_of_two_runs_are_not_one_measurement(tmp_path: Path) -> None:
    """An interval tells how processes of one run differ, and these lie at other times."""
    a = made(tmp_path / "a", machine("board"))
    b = made(tmp_path / "b", machine("board"))
    with pytest.raises(ResultsError, match="measured twice on one host") as exc_info:
        merged(tmp_path / "c", a, b)
    assert str(a) in str(exc_info.value)
    assert str(b) in str(exc_info.value)
    assert not (tmp_path / "c").exists()
    run = merged(tmp_path / "c", ("monday", a), ("friday", b)).run
    assert [host for _, _, host in hosts(run)] == ["monday", "friday"]


def test_what_one_run_could_not_measure_gives_way_to_what_another_did(tmp_path: Path) -> None:
    b = made(tmp_path / "b", machine("board"))
    with RunFolder.create(tmp_path / "a", read_run(b).manifest) as folder:
        folder.begin(machine("board"))
        record(folder, CASE, 0, status="unavailable", started_at_utc="2026-11-22T12:00:00.000")
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    (tmp_path / "a" / "manifest.json").write_text(json.dumps(manifest | {"run_id": "0" * 12}))
    reseal_manifest(tmp_path / "a" / "manifest.json")
    run = merged(tmp_path / "c", tmp_path / "a", b).run
    assert [result.status for result in run.rounds_of(CASE)] == ["ok"] * 3


def test_a_copy_that_was_resumed_is_the_same_run_and_two_that_were_are_not(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"), rounds=1)
    for name in ("b", "b2"):
        copied(a, tmp_path / name)
        with RunFolder.reopen(tmp_path / name) as folder:
            folder.begin(machine("board"))
            measured(folder, CASE, 1, 12.0 + len(name))
    run = merged(tmp_path / "c", a, tmp_path / "b").run
    assert [result.round for result in run.rounds_of(CASE)] == [0, 1]
    assert len(run.manifest.merged) == 1
    with pytest.raises(ResultsError, match="resumed apart"):
        merged(tmp_path / "d", tmp_path / "b", tmp_path / "b2")


def copied(path: Path, target: Path) -> None:
    for file in path.rglob("*"):
        if file.is_file():
            (target / file.relative_to(path)).parent.mkdir(parents=True, exist_ok=True)
            (target / file.relative_to(path)).write_bytes(file.read_bytes())


def test_two_machines_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("localhost"))
    b = made(tmp_path / "b", machine("localhost", LARGE))
    merge_result = merged(tmp_path / "c", a, b)
    assert [host for _, _, host in hosts(merge_result.run)] == ["localhost (a)", "localhost (b)"]
    assert "NAME=FOLDER" in merge_result.sentences[0]
    little_less = machine("localhost", {**SMALL, "memory_bytes": (4 << 30) - (64 << 20)})
    d = made(tmp_path / "d", little_less, [OTHER])
    assert {host for _, _, host in hosts(merged(tmp_path / "e", a, d).run)} == {"localhost"}


def test_a_name_is_of_one_host(tmp_path: Path) -> None:
    a, b = made(tmp_path / "a", machine("x")), made(tmp_path / "b", machine("y", LARGE))
    c = merged(tmp_path / "c", a, b).run.path
    with pytest.raises(PlanError, match="several hosts, x, y"):
        merged(tmp_path / "d", ("z", c))


def test_a_run_that_went_on_elsewhere_has_a_row_for_each_host(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"), rounds=2)
    with RunFolder.reopen(a) as folder:
        folder.begin(machine("server", LARGE))
        measured(folder, CASE, 2, 5.0)
    (row,) = Rows().of(read_run(a))
    assert diagnostic("several_hosts", hosts=("board", "server")) in diagnostics_of(row)
    run = merged(tmp_path / "c", a).run
    rows = Rows().of(run)
    assert [(row["host"], row["rounds"]) for row in rows] == [("board", 2), ("server", 1)]
    assert not any("several_hosts" in str(row["warning_codes"]) for row in rows)


def test_each_row_is_read_under_the_plan_that_it_was_measured_by(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"), seed=1, deadline_us=9.0, graphlap_version="0.1.7")
    b = made(tmp_path / "b", machine("server", LARGE), seed=2, rounds=2, percentiles=(50.0, 75.0))
    merge_result = merged(tmp_path / "c", a, b)
    board, server = Rows().of(merge_result.run)
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
        assert sentence in merge_result.sentences
    assert any(
        line.startswith("differs: graphlap_version is 0.1.7 in a")
        for line in merge_result.sentences
    )


def test_a_check_is_not_merged_with_what_was_measured(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"), check=True)
    b = made(tmp_path / "b", machine("server", LARGE))
    with pytest.raises(ResultsError, match="a is a check"):
        merged(tmp_path / "c", a, b)


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
    b = made(tmp_path / "b", machine("server", LARGE), [case])
    run = merged(tmp_path / "c", a, b).run
    board, server = run.manifest.cases
    (also,) = run.tried
    assert (also.axes, also.host) == ({"batch": 8}, "board")
    assert run.model_of(board) == model
    assert (run.accuracy_of(board) is not None, run.accuracy_of(server)) == (True, None)
    assert [cold.process for cold in run.cold_starts_of(board)] == [0]
    assert not run.cold_starts_of(server)
    assert read_operators(run.path, run.operators[board.case_id]).ops == times.ops
    assert (run.path / "telemetry" / f"{also.case_id}.0.jsonl").is_file()
    assert not verify(run.path).findings


def test_models_are_those_of_their_own_folders(tmp_path: Path) -> None:
    model = exported_add(tmp_path)
    case = Case("add.onnx", "fake", axes={"batch": 4})
    for name, host in (("a", machine("board")), ("b", machine("server", LARGE))):
        made(tmp_path / name, host, [case], rounds=0)
        with RunFolder.reopen(tmp_path / name) as folder:
            folder.begin(host)
            folder.record(ModelExported("add.onnx", "fp32", replace(model, sha256=name * 64)))
            measured(folder, case, 0, 10.0)
    merge_result = merged(tmp_path / "c", tmp_path / "a", tmp_path / "b")
    rows = Rows().of(merge_result.run)
    assert [row["model_sha256"] for row in rows] == ["a" * 64, "b" * 64]
    assert "differs: the graph of add.onnx in fp32 is aaaaaaaaaaaa in a, bbbbbbbbbbbb in b" in (
        merge_result.sentences
    )


def test_what_is_damaged_is_left_out_and_told(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"))
    b = made(tmp_path / "b", machine("server", LARGE))
    (journal,) = (a / "journal").iterdir()
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join([*lines[:2], "{damaged\n", *lines[3:]]))
    next((b / "samples").glob("*.1.bin")).unlink()
    merge_result = merged(tmp_path / "c", a, b)
    assert [row["rounds"] for row in Rows().of(merge_result.run)] == [2, 2]
    assert len(merge_result.damage) == 2
    assert f"{journal} line 3 is damaged" in merge_result.damage[0]
    assert "can't be read" in merge_result.damage[1]


def test_a_link_that_leads_out_of_its_folder_is_not_followed(tmp_path: Path) -> None:
    """A folder may come from a stranger, and its merge be passed on: a file of one's own that it
    points to must not be in it. One within the folder is."""
    a = made(tmp_path / "a", machine("board"))
    secret = tmp_path / "secret"
    secret.write_text("mine alone\n")
    first, second, _ = sorted((a / "samples").iterdir())
    (a / "telemetry").mkdir()
    (a / "inputs").mkdir()
    (a / "telemetry" / f"{first.stem}.jsonl").symlink_to(secret)
    (a / "inputs" / "x.npz").symlink_to(secret)
    second.rename(a / "kept.bin")
    second.symlink_to("../kept.bin")
    merge_result = merged(tmp_path / "c", a)
    assert merge_result.damage == (
        f"{a}/inputs/x.npz leads out of the run's folder",
        f"{a}/telemetry/{first.stem}.jsonl leads out of the run's folder",
    )
    shutil.rmtree(a)
    assert [row["rounds"] for row in Rows().of(read_run(merge_result.run.path))] == [3]
    files = [path for path in merge_result.run.path.rglob("*") if path.is_file()]
    assert not any(path.is_symlink() for path in files)
    assert not any(b"mine alone" in path.read_bytes() for path in files)


@pytest.mark.parametrize("name", ["../../evil", ".hidden", "a/b", "x" * 300])
def test_a_folder_of_a_stranger_writes_nothing_beside_the_new_one(
    tmp_path: Path, name: str
) -> None:
    a = made(tmp_path / "in" / "a", machine("board"))
    (journal,) = (a / "journal").iterdir()
    first, rest = journal.read_text().split("\n", 1)
    journal.write_text(json.dumps(json.loads(first) | {"writer": name}) + "\n" + rest)
    reseal_journal(journal)
    entry = {"path": "w.npz", "sha256": "0" * 64, "kept": f"files/../../{name}"}
    manifest = json.loads((a / "manifest.json").read_text())
    (a / "manifest.json").write_text(json.dumps(manifest | {"files": [entry]}))
    reseal_manifest(a / "manifest.json")
    run = merged(tmp_path / "out" / "c", a).run
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["c"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    assert len(list((run.path / "journal").iterdir())) == 1
    assert run.manifest.files[0].kept == ""
    assert [row["rounds"] for row in Rows().of(run)] == [3]


def test_what_a_killed_merge_left_is_in_nobodys_way(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"))
    (tmp_path / ".c.merging" / "samples").mkdir(parents=True)
    merged(tmp_path / "c", a)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "c"]


def test_nothing_is_made_where_it_can_not_be(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"))
    with pytest.raises(ResultsError, match="lies inside"):
        merged(a / "c", a)
    with pytest.raises(ResultsError, match="belongs to another run"):
        merged(a, a)
    with pytest.raises(ResultsError, match="is no run folder"):
        read_source(tmp_path)
    with RunFolder.reopen(a), pytest.raises(ResultsError, match="is being measured"):
        read_source(a)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_the_fastest_is_told_for_each_host_and_over_them(tmp_path: Path) -> None:
    a = made(tmp_path / "a", machine("board"), NETS)
    b = made(tmp_path / "b", machine("server", LARGE), NETS, us=5.0)
    contests = fastest(Rows().measured(merged(tmp_path / "c", a, b).run), 0.02)
    assert [(contest.label, contest.first, contest.is_unpaired) for contest in contests] == [
        ("add.onnx · on board", "fake", False),
        ("add.onnx · on server", "fake", False),
        ("add.onnx · fake", "on server", True),
        ("add.onnx · ort-cpu", "on server", True),
    ]
    assert not any(contest.needed for contest in contests if contest.is_unpaired)
