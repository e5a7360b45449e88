"""Configuration files give defaults that a plan and a command line override, and run no code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.__main__ import main
from app.cases.errors import PlanError
from app.plan.command_line import parse
from app.plan.configuration import VARIABLE, configurations, user_file
from app.plan.options import plan_from_options
from app.plan.plan import Plan
from app.plan.plan_files import toml_value
from app.plan.settings.table import PLAN_SETTINGS, SWEEP_SETTINGS
from app.runs.reader import read_run
from tests.app.cli.headless.batch import run
from tests.app.plan.samples import PLAN, SWEEP

MODELS = ("--headless", "--models", "mlp", "--runtimes", "fake")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, below which nothing is configured yet, and a user without files."""
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    user_file().parent.mkdir(parents=True)
    return folder


def planned(*words: str) -> Plan:
    return plan_from_options(parse([*MODELS, *words]))


def test_each_layer_overrides_those_below_it(project: Path) -> None:
    assert planned().profile == "quick"
    user_file().write_text('preset = "brief"\nrounds = 3\nseed = 1\nthreads = [2]\n')
    (project / "graphlap.toml").write_text("rounds = 4\nseed = 2\n")
    (project / "own.toml").write_text('seed = 3\n[[sweeps]]\nmodels = ["mlp"]\n')
    assert (planned().profile, planned().rounds, planned().seed) == ("brief", 4, 2)
    assert planned().sweeps[0].threads == (2,)
    file_plan = planned("--plan", "own.toml")
    assert (file_plan.profile, file_plan.rounds, file_plan.seed) == ("brief", 4, 3)
    flag_plan = planned("--plan", "own.toml", "--seed", "4", "--threads", "1")
    assert (flag_plan.rounds, flag_plan.seed, flag_plan.sweeps[0].threads) == (4, 4, (1,))


def test_the_nearest_project_counts_and_pyproject_is_one(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "pyproject.toml").write_text("[tool.graphlap]\nrounds = 5\n")
    inner = project / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    (inner / "pyproject.toml").write_text("[tool.other]\nrounds = 6\n")
    assert planned().rounds == 5
    (project / "a" / "graphlap.toml").write_text("rounds = 7\n")
    assert planned().rounds == 7
    (project / "a" / "pyproject.toml").write_text("[tool.graphlap]\nrounds = 8\n")
    with pytest.raises(PlanError) as exc_info:
        planned()
    assert exc_info.value.remedy


def test_a_file_that_is_named_replaces_the_projects(project: Path) -> None:
    (project / "graphlap.toml").write_text("rounds = 4\n")
    (project / "other.toml").write_text('rounds = 9\ncustom_ops = ["own.so"]\n')
    assert planned("--config", "other.toml").custom_ops == ("own.so",)
    assert planned("--config", "none").rounds is None
    assert planned().rounds == 4


@pytest.mark.parametrize(
    "text",
    [
        'environments = {old = "/tmp/python"}',
        'custom_ops = ["ops.so"]',
        'models = ["net.py:build"]',
        'conditions = ["with:net.py:build"]',
        'runtimes = ["ort-ep:/tmp/lib.so"]',
        'cluster = "ssh:board"',
        "send_code = true",
    ],
)
def test_a_project_cannot_make_the_program_run_code(project: Path, text: str) -> None:
    (project / "graphlap.toml").write_text(text)
    with pytest.raises(PlanError) as exc_info:
        planned()
    assert exc_info.value.remedy
    (project / "graphlap.toml").rename(user_file())
    assert configurations()


@pytest.mark.parametrize("text", ["roundss = 3", "rounds = 0", "rounds", 'preset = "fast"'])
def test_what_is_wrong_with_a_file_is_one_sentence_with_its_path(project: Path, text: str) -> None:
    (project / "graphlap.toml").write_text(text)
    code, _, errors = run(*MODELS)
    assert (code, len(errors.splitlines())) == (2, 1) and str(project / "graphlap.toml") in errors
    assert [path.name for path in project.iterdir()] == ["graphlap.toml"]


def test_a_broken_pyproject_that_may_have_settings_is_an_error_with_file_and_line(
    project: Path,
) -> None:
    path = project / "pyproject.toml"
    path.write_text("[project]\nname = 'other'\n[tool.other\n")
    assert planned().rounds is None, "what does not name us is not ours to judge"
    path.write_text("[project]\nname = 'other'\n[tool.graphlap\nrounds = 5\n")
    code, _, errors = run(*MODELS)
    assert (code, len(errors.splitlines())) == (2, 1)
    assert str(path) in errors and "line 3" in errors
    (project / "graphlap.toml").write_text("rounds = 4\n")
    with pytest.raises(PlanError):
        planned()
    assert planned("--config", "none").rounds is None


@pytest.mark.parametrize("row", [*PLAN_SETTINGS, *SWEEP_SETTINGS], ids=lambda row: row.key)
def test_every_setting_can_be_configured(row: Any) -> None:
    value = {**PLAN, **SWEEP}[row.key]
    user_file().write_text(f"{row.name} = {toml_value(value)}\n")
    (configuration,) = configurations()
    plain = Plan.model_validate({"sweeps": [{"models": ["any"], **_select_sample(SWEEP, row.key)}],
                                 **_select_sample(PLAN, row.key)})  # fmt: skip
    part = plain if row.scope == "plan" else plain.sweeps[0]
    assert {**configuration.plan, **configuration.sweep} == {row.key: getattr(part, row.key)}


def _select_sample(samples: dict[str, Any], key: str) -> dict[str, Any]:
    return {key: samples[key]} if key in samples else {}


def test_the_origin_of_each_value_is_printed_and_nothing_measured(project: Path) -> None:
    user_file().write_text('preset = "brief"\n')
    (project / "graphlap.toml").write_text("rounds = 4\n")
    words = [*MODELS, "--seed", "7", "--show-config"]
    code, out, _ = run(*words)
    lines = out.splitlines()
    assert code == 0
    assert "seed = 7  # command line" in lines
    assert f"rounds = 4  # project {project / 'graphlap.toml'}" in lines
    assert f'preset = "brief"  # user {user_file()}' in lines
    assert "op_times = false  # default" in lines
    assert 'models = ["mlp"]  # command line' in lines
    assert sorted(path.name for path in project.iterdir()) == ["graphlap.toml"]
    (project / "two.toml").write_text(
        '[[sweeps]]\nmodels = ["cnn_tiny"]\nthreads = [2]\n[[sweeps]]\nmodels = ["mlp"]\n'
    )
    code, out, _ = run(*words, "--plan", "two.toml")
    assert code == 0 and "threads = [1]  # default" in out.splitlines()


def test_a_run_records_its_values_and_resume_reads_no_file(project: Path) -> None:
    (project / "graphlap.toml").write_text('preset = "glance"\nrounds = 2\nthreshold = 0.05\n')
    assert main([*MODELS, "--budget", "0.001", "--out", "run"]) in (0, 1)
    (project / "graphlap.toml").write_text("rounds = nonsense\n")
    main(["resume", "run"])
    plan = read_run(project / "run").manifest.requested_plan
    assert (plan.profile, plan.rounds, plan.band) == ("glance", 2, 0.05)
