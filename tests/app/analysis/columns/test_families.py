"""Each column is written by one family, each family writes what it declares, and all are filled."""

from __future__ import annotations

from typing import Any

import pytest

from app.analysis.columns.families import COMPARING, FAMILIES
from app.analysis.columns.family import Columns, Comparing
from app.analysis.columns.table import COLUMNS, NAMES, percentile_columns
from tests.app.analysis.columns.filled import NEVER_FILLED, filled_csv

EVERY: tuple[type[Columns], ...] = (*FAMILIES, *COMPARING)
REVISED = {
    "Stopping": {"stop_reason", "ci_method"},
    "Diagnosed": {"valid", "reason"},
    "Devices": {"device_memory_peak_mib", "device_memory_source"},
    "OtherProgram": set(NAMES),
    "MixedGraphs": {name for name in NAMES if "_ci_" in name or name == "ci_method"},
}
"""Columns of earlier families that a family may replace."""


class Recorded:
    """The names that each family returned, and those that had a value."""

    def __init__(self) -> None:
        self.returned: dict[str, set[str]] = {family.__name__: set() for family in EVERY}
        self.with_values: dict[str, set[str]] = {family.__name__: set() for family in EVERY}

    def listen(self, family: Any, patcher: pytest.MonkeyPatch) -> None:
        original, name = family.fill, family.__name__

        def fill(*given: object) -> Any:
            values = original(*given)
            for row in values.values() if issubclass(family, Comparing) else (values,):
                self.returned[name].update(row)
                self.with_values[name].update(key for key in row if row[key] is not None)
            return values

        patcher.setattr(family, "fill", fill)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Of a run in which every column is filled."""
    recorder = Recorded()
    with pytest.MonkeyPatch.context() as patcher:
        for family in EVERY:
            recorder.listen(family, patcher)
        filled_csv(tmp_path_factory.mktemp("families") / "run")
    return recorder


def test_every_column_is_declared_once_and_says_what_it_means() -> None:
    assert len({column.name for column in COLUMNS}) == len(COLUMNS)
    assert len({family.__name__ for family in EVERY}) == len(EVERY)
    assert all(column.meaning for column in COLUMNS)


@pytest.mark.parametrize("family", EVERY, ids=lambda family: family.__name__)
def test_a_family_writes_only_what_it_declares_and_what_it_revises_of_earlier_ones(
    recorded: Recorded, family: type[Columns]
) -> None:
    p99_names = [name.replace("p9999", "p99") for name in percentile_columns((99.99,))]
    standard_names = dict(zip(percentile_columns((99.99,)), p99_names, strict=True))
    names = {standard_names.get(name, name) for name in recorded.returned[family.__name__]}
    earlier = {name for other in EVERY[: EVERY.index(family)] for name in other.names()}
    revised = REVISED.get(family.__name__, set())
    assert names <= {*family.names(), *revised}
    if family.__name__ != "OtherProgram":  # which may state any figure
        assert revised <= earlier | {name for other in COMPARING for name in other.names()}


@pytest.mark.parametrize(
    "family", [f for f in EVERY if f.__name__ != "OtherProgram"], ids=lambda family: family.__name__
)
def test_every_declared_column_is_filled_by_its_family(
    recorded: Recorded, family: type[Columns]
) -> None:
    """Those of imported rows are in tests/app/runs/importing."""
    filled_columns = recorded.with_values[family.__name__]
    assert set(family.names()) - filled_columns - NEVER_FILLED == set()
