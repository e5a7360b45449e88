"""The suites that ship: each names every model of its part of the catalogue."""

from __future__ import annotations

from itertools import pairwise

import pytest

from app.sweep.plan import load_suite
from exporters.catalogue import by_suite


@pytest.mark.parametrize("suite", by_suite())
def test_a_suite_has_every_model_of_its_name(suite: str) -> None:
    named = [name for sweep in load_suite(suite).sweeps for name in sweep.models]
    assert sorted(named) == sorted(definition.name for definition in by_suite()[suite])


def test_the_zoo_doubles_its_batch_from_1_to_256() -> None:
    (sweep,) = load_suite("zoo").sweeps
    assert (sweep.batch_size[0], sweep.batch_size[-1]) == (1, 256)
    assert all(after == 2 * before for before, after in pairwise(sweep.batch_size))
