"""The cases of a plan: complete, without duplicates, and refused where a name is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.analysis.comparison.published_figures import published
from app.cases.case import Case
from app.machine.installed_runtimes import available_names
from app.plan.expand import expand
from app.plan.plan import checked, parse_plan
from app.plan.plan_files import load_plan, load_suite, plan_toml, suite_names
from app.plan.settings.table import SETTINGS
from app.plan.settings_page import PAGE, TYPES, setting_types, settings_page
from exporters.models.catalogue import by_suite
from tests.app.sweep.sweeps import write_add_graph


def cases(*grids: dict[str, Any]) -> tuple[Case, ...]:
    return expand(parse_plan({"sweeps": list(grids)}, "the plan"))


def test_a_grid_is_the_product_of_its_lists() -> None:
    grid = {
        "models": ["cnn_tiny_seq", "mlp"],
        "runtimes": ["ort-cpu", "torch-cpu"],
        "batch_size": [1, 2],
        "sequence_length": [8, 32, 64],
        "threads": [1, 2],
    }
    all_cases = cases(grid)
    sequences = [case for case in all_cases if case.model == "cnn_tiny_seq"]
    assert len(sequences) == 2 * 2 * 3 * 2
    assert len(all_cases) - len(sequences) == 2 * 2 * 2, "the perceptron has no sequence"
    assert {tuple(case.axes) for case in sequences} == {("batch", "sequence")}


def test_the_same_case_from_two_grids_is_measured_once() -> None:
    grid = {"models": ["mlp"], "runtimes": ["fake"]}
    assert len(cases(grid, {**grid, "batch_size": [1]}, {**grid, "wait_policy": "sleep"})) == 1


def test_sizes_that_nobody_gave_are_the_models_defaults() -> None:
    (case,) = cases({"models": ["lstm_tiny_seq"], "runtimes": ["fake"]})
    assert case.axes == {"batch": 1, "sequence": 16}


@pytest.mark.parametrize("model", ["net.py:build", "hf:some/model"])
def test_a_users_module_has_the_sizes_that_are_asked_for_and_no_guessed_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text("def build():\n    raise RuntimeError('not to be run')\n")
    grid = {"models": [model], "runtimes": ["fake"]}
    assert [case.axes for case in cases(grid)] == [{}]
    swept = cases({**grid, "batch_size": [4], "axes": {"edges": [10, 20]}})
    assert [dict(case.axes) for case in swept] == [
        {"edges": 10, "batch": 4},
        {"edges": 20, "batch": 4},
    ]


def test_default_option_values_do_not_make_another_case() -> None:
    grid = {"models": ["mlp"], "runtimes": ["fake"]}
    (plain,) = cases(grid)
    both = cases({**grid, "options": {"fake.latency_us": [100.0, 50]}})
    assert [case.options for case in both] == [{}, {"latency_us": 50.0}]
    assert both[0].case_id == plain.case_id


def test_available_stands_for_what_is_here_and_is_not_named_with_a_device() -> None:
    grid = {"models": ["mlp"], "runtimes": ["fake:1", "available", "fpga:ia-840f"]}
    runtimes = [case.runtime for case in cases(grid)]
    local_names = [name for name in available_names() if name != "fpga"]
    assert runtimes == ["fake:1", *local_names, "fpga:ia-840f"]
    alone = [case.runtime for case in cases({"models": ["mlp"], "runtimes": ["available"]})]
    assert alone == list(available_names())


def test_the_batch_flag_sets_a_files_own_batch_axis(tmp_path: Path) -> None:
    path = write_add_graph(tmp_path / "open.onnx", ("N", 3))
    file_cases = cases({"models": [str(path)], "runtimes": ["fake"], "batch_size": [1, 4]})
    assert [case.axes for case in file_cases] == [{"N": 1}, {"N": 4}]


def test_a_runtime_that_hands_options_on_takes_any_and_keeps_their_text() -> None:
    options = {"ort-ep.num_threads": [4], "ort-ep.path": ["", "a b"], "ort-ep.device": ["first"]}
    option_cases = cases({"models": ["mlp"], "runtimes": ["ort-ep:numpy"], "options": options})
    assert [case.options for case in option_cases] == [
        {"num_threads": "4"},
        {"num_threads": "4", "path": "a b"},
    ]


@pytest.mark.parametrize("name", suite_names())
def test_a_suite_names_known_models_and_is_the_same_when_it_is_saved_or_edited(
    name: str, tmp_path: Path
) -> None:
    plan = load_suite(name)
    assert plan.name == name
    assert checked(plan) == plan
    (tmp_path / "p.toml").write_text(plan_toml(plan), "utf-8")
    assert load_plan(tmp_path / "p.toml") == plan
    names = [model for sweep in plan.sweeps for model in sweep.models]
    for sweep in plan.sweeps:
        assert {"precisions", "batch_size", "threads", "scenarios"} <= sweep.model_fields_set
    every = [definition.name for group in by_suite().values() for definition in group]
    assert set(names) <= set(every)
    if name in by_suite():
        assert set(names) == {definition.name for definition in by_suite()[name]}
    if name == "catalogue":
        assert sorted(names) == sorted(every)


@pytest.mark.parametrize("suite", ["vollo-cnn", "vollo-lstm"])
def test_every_published_row_is_simulated_at_its_release_and_pacing(suite: str) -> None:
    pacing = {"spaced": "paced:20us"}
    cases = {(c.model, c.runtime, str(c.scenario)) for c in expand(load_suite(suite))}
    models = {definition.name for definition in by_suite()[suite]}
    rows = [figure for figure in published() if figure.model in models]
    assert rows
    for figure in rows:
        pace, release = figure.conditions.removesuffix(" (inferred)").split(", ")
        assert (figure.model, f"{figure.runtime}@{release}", pacing[pace]) in cases


def test_the_page_is_current() -> None:
    text = PAGE.read_text("utf-8")
    assert text == settings_page(), "run python -m app.plan.settings_page"
    assert TYPES.read_text("utf-8") == setting_types(), "run python -m app.plan.settings_page"
    assert all(f"`{row.flag}" in text for row in SETTINGS)
