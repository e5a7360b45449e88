"""A wrong plan must be told in one sentence that says how to mend it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.cases.errors import PlanError
from app.cases.scenario import Scenario
from app.plan.plan import named_lengths, parse_plan
from app.plan.plan_files import load_plan, load_suite, suite_names
from exporters.models import catalogue

GRID = {"models": ["cnn_tiny"]}


def refusal(data: dict[str, Any]) -> str:
    with pytest.raises(PlanError) as caught:
        parse_plan(data, "the plan")
    text = str(caught.value)
    assert "\n" not in text
    assert caught.value.remedy
    return text


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ({"sweeps": [GRID], "seeed": 1}, "'seed'"),
        ({"sweeps": [{**GRID, "batchsize": [1]}]}, "'batch_size'"),
        ({"sweeps": [{**GRID, "scenario": ["closed_loop"]}]}, "'scenarios'"),
        ({"sweeps": [GRID], "profile": "quik"}, "'quick'"),
    ],
)
def test_a_mistyped_word_is_answered_with_the_right_one(data: dict[str, Any], named: str) -> None:
    assert f"did you mean {named}?" in refusal(data)


@pytest.mark.parametrize(
    ("grid", "named"),
    [
        ({"batch_size": [0]}, "batch_size"),
        ({"batch_size": [-1]}, "batch_size"),
        ({"batch_size": ["x"]}, "batch_size"),
        ({"batch_size": [1.5]}, "batch_size"),
        ({"batch_size": [True]}, "batch_size"),
        ({"sequence_length": [0]}, "sequence_length"),
        ({"threads": [-1]}, "threads"),
        ({"threads": []}, "threads"),
        ({"axes": {"height": [-1]}}, "height"),
        ({"precisions": ["fp4"]}, "precisions"),
        ({"scenarios": ["paced"]}, "paced"),
        ({"scenarios": ["paced:-1us"]}, "paced:-1us"),
        ({"wait_policy": "doze"}, "idle_policy"),
        ({"models": []}, "models"),
    ],
)
def test_a_bad_value_is_named(grid: dict[str, Any], named: str) -> None:
    assert named in refusal({"sweeps": [{**GRID, **grid}]})


@pytest.mark.parametrize(
    "data",
    [
        {"sweeps": []},
        {},
        {"sweeps": [GRID], "rounds": 0},
        {"sweeps": [GRID], "seed": -1},
        {"sweeps": [GRID], "time_limit_s": 0},
        {"sweeps": [GRID], "name": "../elsewhere"},
    ],
)
def test_an_empty_or_impossible_plan_is_refused(data: dict[str, Any]) -> None:
    refusal(data)


def test_rounds_and_time_limit_override_the_profile() -> None:
    plan = parse_plan({"sweeps": [GRID], "profile": "standard", "rounds": 7}, "the plan")
    assert plan.lengths.rounds == 7
    assert plan.lengths.limits == named_lengths()["standard"].limits
    assert plan.lengths.time_limit_s == named_lengths()["standard"].time_limit_s


def test_the_profiles_are_the_documented_ones() -> None:
    lengths = {name: (p.rounds, p.limits.min_s) for name, p in named_lengths().items()}
    assert lengths == {
        "glance": (2, 0.3),
        "quick": (4, 0.25),
        "brief": (8, 0.2),
        "standard": (8, 3.0),
        "publication": (10, 20.0),
    }
    for profile in named_lengths().values():
        assert profile.rounds * profile.limits.min_samples >= 368, "p99 must be supported"


def test_a_plan_file_takes_its_own_name(tmp_path: Path) -> None:
    path = tmp_path / "nightly.toml"
    path.write_text('[[sweeps]]\nmodels = ["mlp"]\nscenarios = ["paced:1ms"]\n')
    plan = load_plan(path)
    assert plan.name == "nightly"
    assert plan.sweeps[0].scenarios == (str(Scenario("paced", 1000.0)),)


@pytest.mark.parametrize("content", [b"[[sweeps]\n", b"\xff\xfe", None])
def test_an_unreadable_plan_file_is_one_sentence(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "plan.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PlanError, match=r"plan\.toml"):
        load_plan(path)


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_that_ships_names_known_models_and_spells_its_axes_out(name: str) -> None:
    plan = load_suite(name)
    assert plan.name == name
    for sweep in plan.sweeps:
        for model in sweep.models:
            assert catalogue.find(model).name == model
        assert {"precisions", "batch_size", "threads", "scenarios"} <= sweep.model_fields_set


def test_an_unknown_suite_suggests_the_nearest() -> None:
    with pytest.raises(PlanError, match="did you mean 'starter'"):
        load_suite("startr")
