"""Each column is written by one family, each family writes what it declares, and all are filled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from app.cases.chosen_columns import chosen_names
from app.cases.column import Row
from app.cases.columns import NAMES
from app.results import families, rows
from app.results.families import ACROSS_CASES, FAMILIES, CaseData, Family
from tests.app.results.filled import NEVER_FILLED, filled_csv

_ACROSS: Mapping[str, str] = {
    "baseline": "baseline_columns",
    "null twin": "null_columns",
    "scaling": "scaling_columns",
}


class Recorded:
    """The names that each family returned, and those that had a value."""

    def __init__(self) -> None:
        self.returned: dict[str, set[str]] = {}
        self.with_values: dict[str, set[str]] = {}

    def take(self, family: str, row: Row) -> None:
        self.returned.setdefault(family, set()).update(row)
        filled = {name for name, value in row.items() if value is not None}
        self.with_values.setdefault(family, set()).update(filled)

    def family(self, family: Family) -> Family:
        def fill(data: CaseData, row: Row) -> Row:
            values = family.fill(data, row)
            self.take(family.name, values)
            return values

        return replace(family, fill=fill)

    def across(
        self, name: str, columns: Callable[..., Mapping[str, Row]]
    ) -> Callable[..., Mapping[str, Row]]:
        def compute(*arguments: Any) -> Mapping[str, Row]:
            by_case = columns(*arguments)
            for row in by_case.values():
                self.take(name, row)
            return by_case

        return compute


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Of a run in which every column is filled."""
    found = Recorded()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(families, "FAMILIES", tuple(map(found.family, FAMILIES)))
        for name, function in _ACROSS.items():
            patched.setattr(rows, function, found.across(name, getattr(rows, function)))
        filled_csv(tmp_path_factory.mktemp("families") / "run")
    return found


def test_every_column_is_written_by_one_family() -> None:
    declared = [*(family.columns for family in FAMILIES), *ACROSS_CASES.values()]
    writers = Counter(name for columns in declared for name in columns)
    assert {name for name, count in writers.items() if count > 1} == set()
    assert writers.keys() - set(NAMES) == set(), "without a column"
    assert set(NAMES) - writers.keys() == set(), "never filled"


def test_what_a_family_revises_is_written_by_one_before_it() -> None:
    written: set[str] = set()
    for family in FAMILIES:
        if family.name != "imported":  # which may state any figure
            assert family.revises <= written | set().union(*ACROSS_CASES.values()), family.name
        written |= family.columns


def test_a_family_writes_only_what_it_declares(recorded: Recorded) -> None:
    of_p99 = [name.replace("p9999", "p99") for name in chosen_names((99.99,))]
    chosen = dict(zip(chosen_names((99.99,)), of_p99, strict=True))
    for family in FAMILIES:
        names = {chosen.get(name, name) for name in recorded.returned.get(family.name, ())}
        assert names <= family.columns | family.revises, family.name
    for name, columns in ACROSS_CASES.items():
        assert recorded.returned[name] <= columns, name


def test_every_declared_column_is_filled_by_its_family(recorded: Recorded) -> None:
    """Those of imported rows are in tests/app/results/imports."""
    declared = {family.name: family.columns for family in FAMILIES} | ACROSS_CASES
    empty = {
        name: sorted(columns - recorded.with_values.get(name, set()) - NEVER_FILLED)
        for name, columns in declared.items()
        if name != "imported"
    }
    assert {name: columns for name, columns in empty.items() if columns} == {}
