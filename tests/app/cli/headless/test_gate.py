"""A gate passes only when every case was judged, and by settings that may judge."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from app.cases.case import Case
from app.cases.errors import PlanError
from app.cli.interface.run import compare
from app.cli.interface.run import run as measured
from app.plan.configuration import user_file
from app.plan.gate_settings import GATE_KEYS
from app.plan.plan_files import toml_value
from app.plan.settings.table import by_key
from app.run_folder.manifest import read_manifest
from tests.app.cli.headless.batch import FAKE, run
from tests.app.cli.headless.faulty_runs import (
    FAST_US,
    SLOW_US,
    ended,
    made,
    other_clock,
    plan_of,
)
from tests.app.sweep.sweeps import write_add_graph

GATE = ("--json", "v.json", "--junit", "v.xml")
FASTER, SLOWER = (f"fake.latency_us={us:g}" for us in (SLOW_US, FAST_US))
"""The baseline of which the other case is faster, or slower."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph and `whole` and `other`, runs of the same two cases."""
    folder = tmp_path_factory.mktemp("gate")
    plan = plan_of(write_add_graph(folder / "add.onnx"))
    for name in ("whole", "other"):
        made(folder / name, plan)
    return folder


@pytest.fixture
def here(runs: Path, work: Path) -> Iterator[Path]:
    """A folder to stand in; runs that are made go there."""
    yield work


def judge(*command: object, fail_on: str = "slower") -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON of a command with a gate; its JUnit says the same."""
    code, _, errors = run(*map(str, command), "--fail-on", fail_on, *GATE)
    answer = json.loads(Path("v.json").read_text("utf-8"))
    suite = ElementTree.parse("v.xml").getroot()
    tests = suite.findall("testcase")
    names = Counter((test.get("classname"), test.get("name")) for test in tests)
    assert max(names.values()) == 1, "two tests of one name are one to whoever reads them"
    assert int(suite.get("tests", "")) == len(tests)
    for word in ("failure", "error", "skipped"):
        attribute = word if word == "skipped" else f"{word}s"
        assert int(suite.get(attribute, "")) == len(suite.findall(f"testcase/{word}"))
    assert answer["gate"]["exit_code"] == code, errors
    types = {element.get("type") for element in suite.findall("testcase/error")}
    assert types == {reason["reason"] for reason in answer["gate"]["reasons"]}
    assert (suite.get("failures") != "0") == (code == 3)
    return code, answer


def reasons(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(reason["reason"], reason["case_id"]) for reason in answer["gate"]["reasons"]]


def paired(folder: Path, graph: Path, baseline: str = FASTER, **more: Any) -> Path:
    return made(folder / "paired", plan_of(graph, baseline=baseline), **more)


def fast_id(run_folder: Path) -> str:
    manifest = json.loads((run_folder / "manifest.json").read_text("utf-8"))
    (case_id,) = [
        case["case_id"] for case in manifest["cases"] if case["options"]["latency_us"] == FAST_US
    ]
    return str(case_id)


def test_what_is_slower_weighs_more_than_what_failed(runs: Path, here: Path) -> None:
    graph = runs / "add.onnx"

    def one_crashed(case: Case) -> dict[str, Any]:
        return {"status": "crashed"} if case.options["latency_us"] == 300.0 else {}

    plan = plan_of(graph, (FAST_US, 300.0, SLOW_US), baseline=SLOWER)
    code, answer = judge("resume", made(here / "three", plan, one_crashed))
    assert code == 3
    assert [reason["reason"] for reason in answer["gate"]["reasons"]] == ["crashed"]


def test_two_runs_of_which_one_lacks_a_case_say_why(runs: Path, here: Path) -> None:
    graph, whole = runs / "add.onnx", runs / "whole"
    other = made(here / "clock", plan_of(graph), other_clock)
    alone = made(here / "alone", plan_of(graph, (SLOW_US,)))
    failed_run = made(here / "failed", plan_of(graph), ended("unsupported"))
    few = made(here / "few", plan_of(graph, rounds=2))
    tail = made(here / "tail", plan_of(graph, percentiles=[12.5]))
    comparisons = {
        "clock": (other, [("other_clock", fast_id(whole))]),
        "failed": (failed_run, [("unsupported", fast_id(whole))]),
        "alone": (alone, [("no_longer_planned", "")]),
    }
    for name, (folder, expected) in comparisons.items():
        code, answer = judge("compare", whole, folder)
        assert (code, reasons(answer)) == (1, expected), name
    for folder, expected_reason in ((tail, "no_percentile"), (few, "too_few_rounds")):
        code, answer = judge("compare", whole, folder)
        assert code == 1 and {reason for reason, _ in reasons(answer)} == {expected_reason}
    assert len(answer["gate"]["reasons"]) == 2
    code, answer = judge("compare", failed_run, whole)
    assert (code, reasons(answer)) == (1, [("unsupported", fast_id(whole))])
    assert judge("compare", alone, whole)[0] == 0, "a new case has no baseline to be judged by"
    assert judge("compare", whole, runs / "other")[0] == 0


def test_a_run_is_not_compared_with_itself_or_a_copy(runs: Path, here: Path) -> None:
    whole = str(runs / "whole")
    copy = str(shutil.copytree(whole, here / "copy"))
    run_id = read_manifest(runs / "whole").run_id
    for command in (
        ("compare", whole, whole),
        ("compare", whole, copy, "--fail-on", "slower"),
        ("resume", whole, "--against", copy),
    ):
        code, _, errors = run(*command)
        assert code == 2 and run_id in errors, command
    with pytest.raises(PlanError, match=run_id):
        compare(whole, copy)


def test_a_gate_of_undecided_verdicts_passes_what_is_decided_alone(runs: Path, work: Path) -> None:
    graph, whole = runs / "add.onnx", runs / "whole"
    gate = judge("compare", whole, runs / "other")[1]["gate"]
    assert gate["undecided"] and not gate["reasons"]
    properties = ElementTree.parse("v.xml").getroot().iter("property")
    told = {entry.get("value") for entry in properties if entry.get("name") == "reason"}
    assert told == {entry["reason"] for entry in gate["undecided"]}
    code, answer = judge("compare", whole, runs / "other", fail_on="undecided")
    verdicts = Counter((entry["reason"], entry["case_id"]) for entry in gate["undecided"])
    assert (code, Counter(reasons(answer))) == (1, verdicts)
    assert answer["gate"]["fail_on"] == "undecided"
    assert judge("resume", paired(work, graph), fail_on="undecided")[0] == 0
    slower = made(work / "slower", plan_of(graph, baseline=SLOWER))
    assert judge("resume", slower, fail_on="undecided")[0] == 3
    assert run("history", str(work), "--fail-on", "undecided")[0] == 2, "it has no such verdict"


def test_without_a_gate_all_of_it_is_told_and_no_more(runs: Path, here: Path) -> None:
    graph, whole = runs / "add.onnx", runs / "whole"
    other = made(here / "clock", plan_of(graph), other_clock)
    files = ("--json", "v.json", "--junit", "v.xml")
    code, out, _ = run("compare", str(whole), str(other), *files)
    assert code == 0 and "the clock is simulated" in out
    answer = json.loads(Path("v.json").read_text("utf-8"))
    (left_out,) = answer["not_compared"]
    assert (left_out["case_id"], left_out["reason"]) == (fast_id(whole), "other_clock")
    assert "gate" not in answer
    (skip_element,) = ElementTree.parse("v.xml").getroot().findall("testcase/skipped")
    assert skip_element.get("type") == "other_clock"
    failed_run = made(here / "failed", plan_of(graph), ended("unsupported"))
    code, out, _ = run("compare", str(failed_run), str(whole), *files)
    assert code == 0 and f"not measured in {failed_run}: unsupported" in out


def test_a_gate_that_could_find_nothing_is_refused_before_anything_is_measured(
    runs: Path, here: Path
) -> None:
    """By the plan, or because the stored run can decide nothing."""
    graph = runs / "add.onnx"
    made(here / "few", plan_of(graph, rounds=2))
    made(here / "other", plan_of(graph, (900.0,)))
    made(here / "tail", plan_of(graph, percentiles=[12.5]))
    baseline_options = ("--option", "fake.latency_us=200,400", "--baseline", FASTER)
    for arguments in (
        (*baseline_options, "--rounds", "2"),
        (*baseline_options, "--preset", "glance"),
        (*baseline_options, "--rounds", "8", "--budget", "200ms"),
        (*baseline_options, "--rounds", "3", "--runtimes", "fake,fpga:v80", "--baseline", "fake"),
        ("--against", str(runs / "whole"), "--rounds", "3", "--largest-batch"),
        *(
            (*baseline_options[:2], "--against", n, "--rounds", "3")
            for n in ("few", "other", "tail")
        ),
    ):
        command = ("--headless", "--models", str(graph), *FAKE, *arguments, "--out", "run")
        assert run(*command, "--fail-on", "slower")[0] == 2, arguments
        assert not Path("run").exists()


def test_a_case_of_the_baseline_with_nothing_to_compare_fails_the_gate(
    runs: Path, here: Path
) -> None:
    """The fast case has no other option, the slow one is not of the baseline."""
    graph = runs / "add.onnx"
    plan = plan_of(graph, baseline="fake")
    kinds = ((FAST_US, "fp32"), (SLOW_US, "fp16"))
    changes = [{"options": {"fake.latency_us": (us,)}, "precisions": (p,)} for us, p in kinds]
    grids = [plan.sweeps[0].model_copy(update=change) for change in changes]
    other = plan.sweeps[0].model_copy(
        update={"runtimes": ("fake:1",), "options": {"fake.latency_us": (FAST_US,)}}
    )
    plan = plan.model_copy(update={"sweeps": (*grids, other)})
    code, answer = judge("resume", made(here / "run", plan))
    assert code == 1
    assert [reason["reason"] for reason in answer["gate"]["reasons"]] == ["no_partner"]
    assert len(answer["only_first"]) == 1 and len(answer["cases"]) == 1


@pytest.fixture
def project(work: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: Any) -> Path:
    """The folder of a project with a graph and a stored run, and an empty folder of the user."""
    monkeypatch.delenv("GRAPHLAP_CONFIG", raising=False)
    monkeypatch.setattr(
        "app.plan.configuration.platformdirs.user_config_path",
        lambda _: tmp_path_factory.getbasetemp() / "user",
    )
    user_file().unlink(missing_ok=True)
    user_file().parent.mkdir(exist_ok=True)
    write_add_graph(work / "add.onnx")
    return work


def test_a_gate_names_the_origin_of_its_threshold(runs: Path, project: Path) -> None:
    """Of a run that is measured, and of two that are there."""
    names = {by_key()[key].name for key in GATE_KEYS}
    _, answer = judge(
        *("run", "add.onnx", *FAKE, "--option", "fake.latency_us=200,400", "--rounds", "3"),
        *("--baseline", "fake.latency_us=400", "--threshold", "95%", "--out", "run"),
    )
    own, own_project = Path("own.toml"), Path("graphlap.toml")
    answers = [(answer["gate"]["settings"], "command line", 0.95)]
    for file, more, origin, value in (
        (None, (), "default", 0.02),
        (own_project, ("--trust-project",), f"project {project / 'graphlap.toml'}", 0.95),
        (own, ("--config", "own.toml"), "file own.toml", 0.95),
        (user_file(), (), f"user {user_file()}", 0.95),
    ):
        if file:
            file.write_text("threshold = 0.95\n")
        _, answer = judge("compare", runs / "whole", runs / "other", *more)
        answers.append((answer["gate"]["settings"], origin, value))
        own_project.unlink(missing_ok=True)
    for settings, origin, value in answers:
        assert {entry["name"] for entry in settings} == names
        (entry,) = [entry for entry in settings if entry["name"] == "threshold"]
        assert (entry["origin"], float(entry["value"])) == (origin, value)


VALUES: dict[str, Any] = {
    "band": 0.95,
    "detect": 0.99,
    "judge": ["mean"],
    "percentiles": [50.0],
    "checked": False,
    "tolerance": 0.5,
    "baseline": "fake.latency_us=400",
    "profile": "glance",
    "rounds": 3,
    "precise": {"p50": 0.2},
    "sequential": True,
    "budget_s": 3600.0,
}


def test_a_project_sets_no_gate_by_itself(runs: Path, project: Path) -> None:
    assert set(VALUES) == set(GATE_KEYS)
    command = ("run", "add.onnx", *FAKE, "--option", "fake.latency_us=200,400", "--out", "run")
    for key, value in VALUES.items():
        Path("graphlap.toml").write_text(f"{by_key()[key].name} = {toml_value(value)}\n")
        judged = () if key == "baseline" else ("--baseline", FASTER)
        code, _, errors = run(*command, *judged, "--fail-on", "slower")
        assert code == 2
        for name in (str(project / "graphlap.toml"), by_key()[key].name, "--trust-project"):
            assert name in errors, key
    Path("graphlap.toml").write_text("threshold = 0.95\n")
    compare = ("compare", str(runs / "whole"), str(runs / "other"), "--fail-on", "slower")
    code, _, errors = run(*compare)
    assert code == 2 and "threshold" in errors and "--trust-project" in errors
    with pytest.raises(PlanError, match="--trust-project"):
        measured("add.onnx", runtimes="fake", against=str(runs / "whole"), fail_on="slower")
