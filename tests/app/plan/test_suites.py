"""The suites that ship: each names every model of its part of the catalogue."""

from __future__ import annotations

from itertools import pairwise

import pytest

from app.comparison.published_figures import published
from app.plan.expand import expand
from app.plan.plan_files import load_suite
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
