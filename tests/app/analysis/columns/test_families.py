"""Each column is written by one family, each family writes what it declares, and all are filled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from app.analysis.columns import families, rows
from app.analysis.columns.families import COMPARING, FAMILIES, CaseData, Comparing, Family
from app.analysis.comparison.measured_case import MeasuredCase
from app.cases.column import Row
from app.cases.columns import COLUMNS, percentile_columns
from app.plan.plan import Plan
from tests.app.analysis.columns.filled import NEVER_FILLED, filled_csv

EVERY: tuple[Family | Comparing, ...] = (*FAMILIES, *COMPARING)


class Recorded:
    """The names that each family returned, and those that had a value."""

    def __init__(self) -> None:
        self.returned: dict[str, set[str]] = {}
        self.with_values: dict[str, set[str]] = {}

    def take(self, family: str, row: Row) -> None:
        self.returned.setdefault(family, set()).update(row)
        filled_columns = {name for name, value in row.items() if value is not None}
        self.with_values.setdefault(family, set()).update(filled_columns)

    def family(self, family: Family) -> Family:
        def fill(data: CaseData, row: Row) -> Row:
            values = family.fill(data, row)
            self.take(family.name, values)
            return values

        return replace(family, fill=fill)

    def comparing(self, family: Comparing) -> Comparing:
        def fill(plan: Plan, cases: Sequence[MeasuredCase]) -> Mapping[str, Row]:
            by_case = family.fill(plan, cases)
            for row in by_case.values():
                self.take(family.name, row)
            return by_case

        return replace(family, fill=fill)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Of a run in which every column is filled."""
    recorder = Recorded()
    with pytest.MonkeyPatch.context() as patcher:
        patcher.setattr(families, "FAMILIES", tuple(map(recorder.family, FAMILIES)))
        patcher.setattr(rows, "COMPARING", tuple(map(recorder.comparing, COMPARING)))
        filled_csv(tmp_path_factory.mktemp("families") / "run")
    return recorder


def test_every_column_has_a_family_and_every_family_is_one_computation() -> None:
    names = [family.name for family in EVERY]
    assert len(set(names)) == len(names)
    assert {column.family for column in COLUMNS} <= set(names), "never filled"
    without_columns = {family.name for family in FAMILIES if not family.columns}
    assert without_columns == {"stopping", "mixed_graphs"}, "they revise what others fill"


def test_what_a_family_revises_is_written_by_one_before_it() -> None:
    written_columns: set[str] = set()
    for family in FAMILIES:
        if family.name != "imported":  # which may state any figure
            compared_columns = set().union(*(other.columns for other in COMPARING))
            assert family.revises <= written_columns | compared_columns, family.name
        written_columns |= family.columns


def test_a_family_writes_only_what_it_declares(recorded: Recorded) -> None:
    p99_names = [name.replace("p9999", "p99") for name in percentile_columns((99.99,))]
    standard_names = dict(zip(percentile_columns((99.99,)), p99_names, strict=True))
    for family in FAMILIES:
        names = {standard_names.get(name, name) for name in recorded.returned.get(family.name, ())}
        assert names <= family.columns | family.revises, family.name
    for comparing in COMPARING:
        assert recorded.returned[comparing.name] <= comparing.columns, comparing.name


def test_every_declared_column_is_filled_by_its_family(recorded: Recorded) -> None:
    """Those of imported rows are in tests/app/runs/importing."""
    declared_columns = {family.name: family.columns for family in EVERY}
    empty = {
        name: sorted(columns - recorded.with_values.get(name, set()) - NEVER_FILLED)
        for name, columns in declared_columns.items()
        if name != "imported"
    }
    assert {name: columns for name, columns in empty.items() if columns} == {}
