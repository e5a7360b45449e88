"""Each column is written by one family, each family writes what it declares, and all are filled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.analysis.columns.families import COMPARING, FAMILIES
from app.analysis.columns.family import Columns
from app.analysis.columns.pages import (
    COLUMNS_PAGE,
    DIAGNOSTICS_PAGE,
    columns_page,
    diagnostics_page,
)
from app.analysis.columns.table import COLUMNS, NAMES, percentile_columns
from app.cases.column import Row
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


@pytest.fixture(scope="module")
def returned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    """The rows that each family gives for a run in which every column is filled."""
    rows: dict[str, list[Row]] = {family.__name__: [] for family in EVERY}

    def heard(family: Any) -> Callable[..., Any]:
        original = family.fill

        def fill(*given: object) -> Any:
            values = original(*given)
            rows[family.__name__] += values.values() if family in COMPARING else [values]
            return values

        return fill

    with pytest.MonkeyPatch.context() as patcher:
        for family in EVERY:
            patcher.setattr(family, "fill", heard(family))
        filled_csv(tmp_path_factory.mktemp("families") / "run")
    return rows


def test_every_column_is_declared_once_and_says_what_it_means() -> None:
    assert len({column.name for column in COLUMNS}) == len(COLUMNS)
    assert len({family.__name__ for family in EVERY}) == len(EVERY)
    assert all(column.meaning for column in COLUMNS)


@pytest.mark.parametrize("family", EVERY, ids=lambda family: family.__name__)
def test_a_family_writes_only_what_it_declares_and_what_it_revises_of_earlier_ones(
    returned: dict[str, list[Row]], family: type[Columns]
) -> None:
    p99_names = [name.replace("p9999", "p99") for name in percentile_columns((99.99,))]
    standard_names = dict(zip(percentile_columns((99.99,)), p99_names, strict=True))
    names = {standard_names.get(n, n) for row in returned[family.__name__] for n in row}
    earlier = {name for other in EVERY[: EVERY.index(family)] for name in other.names()}
    revised = REVISED.get(family.__name__, set())
    assert names <= {*family.names(), *revised}
    if family.__name__ != "OtherProgram":  # which may state any figure
        assert revised <= earlier | {name for other in COMPARING for name in other.names()}


@pytest.mark.parametrize(
    "family", [f for f in EVERY if f.__name__ != "OtherProgram"], ids=lambda family: family.__name__
)
def test_every_declared_column_is_filled_by_its_family(
    returned: dict[str, list[Row]], family: type[Columns]
) -> None:
    """Those of imported rows are in tests/app/runs/importing."""
    rows = returned[family.__name__]
    filled_columns = {name for row in rows for name in row if row[name] is not None}
    assert set(family.names()) - filled_columns - NEVER_FILLED == set()


def test_the_pages_are_made_of_the_tables() -> None:
    for path, made in ((COLUMNS_PAGE, columns_page()), (DIAGNOSTICS_PAGE, diagnostics_page())):
        assert path.read_text("utf-8") == made, "run python -m app.analysis.columns.pages"
