"""A check as a matrix: models down, runtimes across, in each place the case that was checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.cases.case import Case
from app.cases.column import Value
from app.results.labels import differences, model_labels

BUILT = "built"


@dataclass(frozen=True, slots=True)
class Matrix:
    """The names of rows and columns; `places` is row and column by case id.

    Sizes, precision and threads set rows apart where they differ, options the columns.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    places: Mapping[str, tuple[int, int]]


def matrix(cases: Sequence[Case]) -> Matrix:
    """Of all these, in the order in which models and runtimes appear."""
    models = model_labels(case.model for case in cases)
    subjects = {case.case_id: replace(case, runtime="", options={}, host="") for case in cases}
    ways = {
        case.case_id: Case("", case.runtime, options=case.options, host=case.host) for case in cases
    }
    down = {one.case_id: one for one in subjects.values()}
    across = {one.case_id: one for one in ways.values()}
    apart, set_apart = differences(list(down.values())), differences(list(across.values()))
    rows = {key: place for place, key in enumerate(down)}
    columns = {key: place for place, key in enumerate(across)}
    return Matrix(
        tuple(" ".join([models[one.model], *apart[key]]) for key, one in down.items()),
        tuple(" ".join([one.runtime, *set_apart[key]]) for key, one in across.items()),
        {
            case.case_id: (
                rows[subjects[case.case_id].case_id],
                columns[ways[case.case_id].case_id],
            )
            for case in cases
        },
    )


def word(status: str, checked_as: Value) -> str:
    """What a place says: how the case ended, of an engine that can't be opened here `built`."""
    said = BUILT if status == "compiles" and checked_as == BUILT else status
    return said.replace("_", " ")
