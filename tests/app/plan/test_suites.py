"""The suites that ship, drafts of plans, and the page of settings."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from app.cases.errors import PlanError
from app.comparison.published_figures import published
from app.plan.expand import expand
from app.plan.plan import EMPTY, checked, parse_plan
from app.plan.plan_files import load_suite, suite_names
from app.plan.settings.table import SETTINGS
from app.plan.settings_page import PAGE, settings_page
from exporters.models.catalogue import by_suite


@pytest.mark.parametrize("suite", by_suite())
def test_a_suite_has_every_model_of_its_name(suite: str) -> None:
    names = {name for sweep in load_suite(suite).sweeps for name in sweep.models}
    assert names == {definition.name for definition in by_suite()[suite]}


def test_the_catalogue_is_a_suite_of_every_model_once() -> None:
    names = [name for sweep in load_suite("catalogue").sweeps for name in sweep.models]
    expected = [
        definition.name for definitions in by_suite().values() for definition in definitions
    ]
    assert sorted(names) == sorted(expected)


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


def test_the_zoo_doubles_its_batch_from_1_to_256() -> None:
    (sweep,) = load_suite("zoo").sweeps
    assert (sweep.batch_size[0], sweep.batch_size[-1]) == (1, 256)
    assert all(larger == 2 * smaller for smaller, larger in pairwise(sweep.batch_size))


@pytest.mark.parametrize("name", suite_names())
def test_every_suite_goes_through_the_editor_unchanged(name: str) -> None:
    plan = load_suite(name)
    assert checked(plan) == plan


def test_what_no_form_shows_is_kept(tmp_path: Path) -> None:
    data = {"accuracy": str(tmp_path), "time_limit_s": 7.5, "sweeps": [{"models": ["mlp"]}]}
    plan = parse_plan(data, "test")
    assert checked(plan) == plan


def test_an_empty_draft_is_no_plan_and_says_what_is_missing() -> None:
    with pytest.raises(PlanError, match="models"):
        checked(EMPTY)


def test_the_page_is_current() -> None:
    text = PAGE.read_text("utf-8")
    assert text == settings_page(), "run python -m app.plan.settings_page"
    assert all(f"`{row.flag}" in text for row in SETTINGS)


def test_a_help_text_fits_its_line() -> None:
    long = {row.flag: row.help for row in SETTINGS if len(row.help) > 75}
    assert not long
