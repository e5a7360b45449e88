"""Settings that can change what a gate finds: who may set them, and what is told of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.cases.errors import PlanError
from app.interface.run import run as measured
from app.plan.configuration import user_file
from app.plan.gate_settings import GATE_KEYS
from app.plan.plan_files import toml_value
from app.plan.settings.table import by_key
from tests.app.headless.batch import run
from tests.app.headless.faulty_runs import FAST_US, SLOW_US, made, plan_of
from tests.app.sweep.sweeps import write_add_graph

VALUES: dict[str, tuple[str, Any]] = {
    "band": ("95%", 0.95),
    "detect": ("99%", 0.99),
    "judge": ("mean", ["mean"]),
    "percentiles": ("50", [50.0]),
    "checked": ("", False),
    "tolerance": ("0.5", 0.5),
    "baseline": ("fake.latency_us=400", "fake.latency_us=400"),
    "profile": ("glance", "glance"),
    "rounds": ("3", 3),
    "precise": ("20%", {"p50": 0.2}),
    "sequential": ("", True),
    "budget_s": ("1h", 3600.0),
}
"""Of each setting a value as its flag has it and as a file has it."""


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


def gated(key: str, *more: str) -> tuple[int, str, list[dict[str, str]]]:
    """Exit code, errors and settings of a run with a gate."""
    other = () if key == "baseline" else ("--baseline", "fake.latency_us=400")
    rounds = () if key == "rounds" else ("--rounds", "3")
    answer = Path("v.json")
    answer.unlink(missing_ok=True)
    code, _, errors = run(
        *("run", "add.onnx", "--runtimes", "fake", "--option", "fake.latency_us=200,400"),
        *("--seed", "1", *other, *rounds, "--fail-on", "slower", "--json", "v.json"),
        *("--out", "run", *more),
    )
    settings = json.loads(answer.read_text("utf-8"))["gate"]["settings"] if answer.exists() else []
    return code, errors, settings


def test_every_setting_of_a_gate_has_a_value_here() -> None:
    assert set(VALUES) == set(GATE_KEYS)


@pytest.mark.parametrize("key", GATE_KEYS)
def test_a_project_sets_no_gate_by_itself(project: Path, key: str) -> None:
    row, (words, value) = by_key()[key], VALUES[key]
    flag = (row.flag, words) if words else (row.flag,)
    text = f"{row.name} = {toml_value(value)}\n"
    Path("graphlap.toml").write_text(text)
    code, errors, _ = gated(key)
    assert code == 2
    for name in (str(project / "graphlap.toml"), row.name, "--trust-project"):
        assert name in errors
    # Where the settings are taken, the folder is what is refused: nothing is measured.
    Path("run").mkdir()
    Path("run", "file").touch()
    code, errors, _ = gated(key, *flag)
    assert code == 2 and "--trust-project" not in errors
    Path("graphlap.toml").rename(user_file())
    code, errors, _ = gated(key)
    assert code == 2 and "--trust-project" not in errors


@pytest.mark.parametrize("origin", ["flag", "project", "named", "user", "default"])
def test_a_gate_names_the_origin_of_its_threshold(project: Path, origin: str) -> None:
    text = "threshold = 0.95\n"
    more: tuple[str, ...] = ()
    expected = "default"
    if origin == "flag":
        more, expected = ("--threshold", "95%"), "command line"
    elif origin == "project":
        Path("graphlap.toml").write_text(text)
        more, expected = ("--trust-project",), f"project {project / 'graphlap.toml'}"
    elif origin == "named":
        Path("own.toml").write_text(text)
        more, expected = ("--config", "own.toml"), "file own.toml"
    elif origin == "user":
        user_file().write_text(text)
        expected = f"user {user_file()}"
    code, errors, settings = gated("band", *more)
    assert code in (0, 1, 3), errors
    assert {entry["name"] for entry in settings} == {by_key()[key].name for key in GATE_KEYS}
    (entry,) = [entry for entry in settings if entry["name"] == "threshold"]
    assert entry["origin"] == expected
    assert float(entry["value"]) == (0.02 if origin == "default" else 0.95)


def test_two_gates_of_one_project_agree(project: Path) -> None:
    for name, latency_us in (("old", FAST_US), ("new", 1.3 * FAST_US)):
        plan = plan_of(project / "add.onnx", (latency_us, SLOW_US), judge=["p50"])
        made(project / name, plan)
    Path("graphlap.toml").write_text("threshold = 0.95\n")
    compare = ("compare", "old", "new", "--fail-on", "slower", "--json", "c.json")
    code, _, errors = run(*compare)
    assert code == 2 and "threshold" in errors and "--trust-project" in errors
    for more in (("--trust-project",), ("--threshold", "95%"), ("--config", "graphlap.toml")):
        run(*compare, *more)
        answer = json.loads(Path("c.json").read_text("utf-8"))
        assert answer["band"] == 0.95
    with pytest.raises(PlanError, match="--trust-project"):
        measured("add.onnx", runtimes="fake", against="old", fail_on="slower")
