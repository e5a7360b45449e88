"""`--history`: what a nightly job sees of its runs, and when it fails by them."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import statistics
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from app.cases.case import identity_of
from app.cases.column import number_of
from app.present.console.history import trend_figure
from app.run_folder.folder import RunFolder
from app.run_folder.manifest import FULL_TABLE
from app.runs.history.trends import read_history
from tests.app.cli.headless.batch import run
from tests.app.present.console.telling import told
from tests.app.run_folder.runs import CASE, ENVIRONMENT, OTHER, damage_line, manifest_of, record
from tests.app.runs.history.pasts import night_at, nights_at

SLOWER = [1.0] * 8 + [1.1] * 6


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")  # so that no sentence is folded


def test_a_slowdown_is_told_with_its_run_and_what_came_with_it(tmp_path: Path) -> None:
    nights = nights_at(tmp_path / "runs", SLOWER)
    code, out = told("history", tmp_path / "runs")
    assert code == 0
    assert re.search(r"slower: add · fake, p50: (99\.\d|100) µs, then 1(09|10) µs \(\+", out)
    assert f"since {nights[8]} of 2026-03-09 02:00" in out
    assert "differs: packages.onnxruntime: 1.30, then 1.31" in out
    assert "load_1min" not in out, "it is never the same"
    assert told("history", tmp_path / "runs", "--fail-on", "slower")[0] == 3
    wide = told("history", tmp_path / "runs", "--fail-on", "slower", "--threshold", "20%")
    assert wide[0] == 0


def test_a_slowdown_that_was_mended_fails_no_job(tmp_path: Path) -> None:
    nights = nights_at(tmp_path / "runs", [1.0] * 7 + [1.1] * 7 + [1.0] * 7)
    code, out = told("history", tmp_path / "runs", "--fail-on", "slower")
    assert code == 0
    (nights[4] / FULL_TABLE).unlink()
    damage_line(nights[4], 3)
    assert gated(tmp_path / "runs") == (0, []), "damage of older runs passes"
    assert "slower: add" in out and "faster: add" in out
    assert "0 slower, 2 faster since their last change" in out


def test_a_history_is_kept_as_csv_and_json(tmp_path: Path) -> None:
    nights = nights_at(tmp_path / "runs", SLOWER)
    files = {kind: tmp_path / f"history.{kind}" for kind in ("csv", "json")}
    told("history", tmp_path / "runs", "--csv", files["csv"], "--json", files["json"])
    lines = list(csv.DictReader(io.StringIO(files["csv"].read_text("utf-8"))))
    p50 = [line for line in lines if (line["case_id"], line["percentile"]) == (CASE.case_id, "p50")]
    assert [line["path"] for line in p50] == list(map(str, nights))
    assert [line["change"] for line in p50] == [""] * 8 + ["slower"] + [""] * 5
    assert float(p50[0]["value_us"]) == pytest.approx(100.0, rel=0.02)
    history = json.loads(files["json"].read_text("utf-8"))
    assert history["format"] == "graphlap-history" and len(history["runs"]) == 14
    change = next(entry for entry in history["series"] if entry["percentile"] == "p50")["changes"][
        0
    ]
    assert change["verdict"] == "slower" and change["ratio"] == pytest.approx(1.1, rel=0.01)
    trend = next(t for t in read_history(tmp_path / "runs").trends if t.percentile == "p50")
    figure = trend_figure(trend)
    before, after, runs_curve = ([mark.y for mark in line.marks] for line in figure.series)
    assert runs_curve == [point.value_us for point in trend.points]
    assert after[0] / before[0] == pytest.approx(1.1, rel=0.01)
    (mark,) = figure.references
    assert mark.value == 7.5 and mark.label.startswith("slower +")
    assert told("history", tmp_path / "runs", "--plot", tmp_path / "h.svg")[0] == 0
    assert mark.label in "".join(ElementTree.parse(tmp_path / "h.svg").getroot().itertext())


def test_machines_are_not_mixed_unless_that_is_asked(tmp_path: Path) -> None:
    """Odd nights ran on a slower machine."""
    for number in range(12):
        where = {"host": f"host{number % 2}", "cpu": f"cpu{number % 2}"}
        night_at(tmp_path / "runs" / f"{number}", number, 1.0 + 0.3 * (number % 2), where)
    output_by_host = told("history", tmp_path / "runs")[1]
    assert (
        "host0" in output_by_host
        and "host1" in output_by_host
        and "fewer than 10 runs in" in output_by_host
    )
    mixed_output = told("history", tmp_path / "runs", "--any-host")[1]
    assert "host0" not in mixed_output and "fewer than 10 runs in" not in mixed_output


def test_a_mistake_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    night_at(tmp_path / "runs" / "one", 0)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    for words, sentence in (
        ("absent", "absent is no folder"),
        ("empty", "empty has no run folder that can be read"),
        ("runs --plot absent/x.svg", "--plot absent/x.svg: its folder is not there"),
    ):
        code, _, errors = run("history", *words.split())
        assert code == 2 and sentence in errors and errors.count("\n") == 1


def gated(folder: Path, *more: str) -> tuple[int, list[tuple[str, str]]]:
    """The exit code of a gate, and its reasons with their cases."""
    answer = folder.parent / "gate.json"
    words = ("history", folder, "--fail-on", "slower", "--json", answer, *more)
    code, out = told(*words)
    gate = json.loads(answer.read_text("utf-8"))["gate"]
    assert gate["exit_code"] == code
    assert all(entry["reason"] in out and entry["why"] in out for entry in gate["reasons"])
    return code, [(entry["reason"], entry["case_id"]) for entry in gate["reasons"]]


def test_a_newest_run_that_is_damaged_does_not_pass_and_what_is_slower_weighs_more(
    tmp_path: Path,
) -> None:
    runs = tmp_path / "runs"
    nights = nights_at(runs, [1.0] * 10 + [2.0] * 6)
    assert gated(runs)[0] == 3
    for night in nights[10:]:
        (night / FULL_TABLE).unlink()
        damage_line(night, 3)
    code, reasons = gated(runs)
    assert (code, reasons) == (1, [("damaged", "")] * 6)
    for night in nights[11:]:
        shutil.rmtree(night)
    (nights[10] / "manifest.json").unlink()
    code, reasons = gated(runs)
    assert (code, reasons) == (1, [("damaged", "")]), "nobody knows when it began"
    shutil.rmtree(nights[10])
    assert gated(runs) == (0, [])


def test_damage_that_the_table_hides_is_found_in_the_newest_run(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    *_, newest = nights_at(runs, [1.0] * 11)
    samples = newest / "samples" / f"{CASE.case_id}.1.bin"
    samples.write_bytes(samples.read_bytes()[:-7])
    assert gated(runs) == (1, [("damaged", "")])
    for name in ("journal", "samples"):
        shutil.rmtree(newest / name)
    assert gated(runs) == (1, [("damaged", "")])


def test_a_case_that_the_newest_run_does_not_plan_any_more_does_not_pass(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    nights_at(runs, [1.0] * 12)
    manifest = replace(manifest_of((OTHER,)), created_at_utc="2026-04-01T02:00:00.000+00:00")
    for name in ("newest", "next"):
        with RunFolder.create(runs / name, replace(manifest, run_id=name)) as folder:
            folder.begin({**ENVIRONMENT, "cpu": "a processor"})
            for number in range(2):
                record(folder, OTHER, number, [200.0] * 400)
        expected = (1, [("no_longer_planned", CASE.case_id)]) if name == "newest" else (0, [])
        assert gated(runs) == expected, "only the run before is what it is held against"
        manifest = replace(manifest, created_at_utc="2026-04-02T02:00:00.000+00:00")


def test_a_run_of_many_hosts_is_one_point_of_each_series(tmp_path: Path) -> None:
    """Six hosts at one speed and six at another are no slowdown."""
    runs = tmp_path / "runs"
    cases = [replace(case, host=f"h{n:02}") for case in (CASE, OTHER) for n in range(12)]
    with RunFolder.create(runs / "fleet", manifest_of(cases, 3)) as folder:
        folder.begin(ENVIRONMENT)
        for case in cases:
            for number in range(3):
                record(folder, case, number, [100.0 if case.host < "h06" else 150.0] * 400)
    assert gated(runs, "--any-host") == (1, [("too_few_runs", "")])
    nights_at(runs, [1.0] * 11)
    fleet_history = read_history(runs, any_host=True)
    assert {len(trend.points) for trend in fleet_history.trends} == {12}
    for trend in fleet_history.trends:
        (point,) = [point for point in trend.points if point.run.path.name == "fleet"]
        hosts = [
            number_of(row[f"latency_{trend.percentile}_us"])
            for case, row in point.run.cases
            if identity_of(case) == trend.case_id
        ]
        assert len(hosts) == 12
        assert point.value_us == statistics.median(value for value in hosts if value)
        assert point.low_us is point.high_us is None
    history_by_host = read_history(runs)
    assert {trend.host for trend in history_by_host.trends} == {f"h{n:02}" for n in range(12)} | {
        "testhost"
    }
