"""Cases as a matrix: over two settings with the best in each place, or a check's results.

The best of a row of the matrix is of one clock, and of one precision unless that is what the
matrix is over: what is simulated is no rival of what is measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.analysis.plot_data.series import Series, comparison_key, number, ranked, variants
from app.analysis.plot_data.settings import Setting, in_order, settings
from app.cases.case import Case
from app.cases.column import Value
from app.formatting.case_labels import differences, model_labels

VARIANT = "variant"
"""The runtime with all else that differs, as one setting."""
_MODEL = Setting("column", "model", numeric=False)
_NONE = "none"
"""What stands for a setting that a case has not."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The best of the cases in this place, of which there are `count`.

    `value` is its figure, None where it has none to rank; `ratio` >= 1 how far that is from the
    best of those in its row that it can be compared with, None where there is no other.
    """

    row: int
    column: int
    case: Series
    count: int
    value: float | None
    ratio: float | None

    @property
    def simulated(self) -> bool:
        return _is_simulated(self.case)


@dataclass(frozen=True, slots=True)
class Pivot:
    """What stands before each row and above each column; columns of what is simulated come last."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[Cell, ...]


def sides(series: Sequence[Series]) -> dict[str, str]:
    """What a matrix of these can be over: titles by key, the model and the variants first."""
    titles = {_MODEL.key: _MODEL.title, VARIANT: "Runtime and all else"}
    return titles | {s.key: s.title for s in settings(series) if s.key not in titles}


def pivot(
    series: Sequence[Series], down: str, column_key: str, figure: str, *, highest: bool
) -> Pivot:
    """`down` and `column_key` are keys of `sides`, `figure` is a column of which `highest` is
    best."""
    sorted_series = sorted(series, key=_is_simulated)
    rows, names = _values(series, sorted_series, down), _values(series, sorted_series, column_key)
    columns = {
        key: (_is_simulated(case_series), names[1][key])
        for case_series in sorted_series
        for key in [case_series.key]
    }
    order = {name: place for place, name in enumerate(names[0])}
    across_all = sorted(set(columns.values()), key=lambda c: (c[0], order[c[1]]))
    down_at = {name: place for place, name in enumerate(rows[0])}
    across_at = {column: place for place, column in enumerate(across_all)}
    places: dict[tuple[int, int], list[Series]] = {}
    for case_series in sorted_series:
        place = down_at[rows[1][case_series.key]], across_at[columns[case_series.key]]
        places.setdefault(place, []).append(case_series)
    ranked_keys = {case_series.key for case_series in ranked(sorted_series)}
    values = {c.key: number(c, figure) if c.key in ranked_keys else None for c in sorted_series}
    best = {place: _best(cases, values, highest=highest) for place, cases in places.items()}
    leads: dict[tuple[object, ...], float] = {}
    rivals = {p: (p[0], *comparison_key(c, (down, column_key))) for p, c in best.items()}
    for place, case in best.items():
        if value := values[case.key]:
            leads[rivals[place]] = (max if highest else min)(leads.get(rivals[place], value), value)
    rival_counts = Counter(rivals[place] for place, case in best.items() if values[case.key])
    cells = []
    for place, case in best.items():
        value, lead = values[case.key] or None, leads.get(rivals[place])
        ratio = None
        if value and lead and rival_counts[rivals[place]] > 1:
            ratio = lead / value if highest else value / lead
        cells.append(Cell(*place, case, len(places[place]), value, ratio))
    return Pivot(tuple(rows[0]), tuple(name for _, name in across_all), tuple(cells))


def _values(
    all_series: Sequence[Series], sorted_series: Sequence[Series], key: str
) -> tuple[list[str], dict[str, str]]:
    """The values of a setting in their order, and each case's by its key."""
    if key == VARIANT:
        names = variants(sorted_series)
        return list(dict.fromkeys(names[item.key] for item in sorted_series)), names
    setting = next((item for item in settings(all_series) if item.key == key), _MODEL)
    values_by_key = {item.key: setting.value(item) for item in sorted_series}
    distinct_values = set(values_by_key.values())
    ordered_names = in_order(
        setting, [v for item in all_series if (v := setting.value(item)) in distinct_values and v]
    )
    missing_names = [_NONE] if None in distinct_values else []
    return [*ordered_names, *missing_names], {k: v or _NONE for k, v in values_by_key.items()}


def _best(cases: Sequence[Series], values: Mapping[str, float | None], *, highest: bool) -> Series:
    figures = [(value, case_series) for case_series in cases if (value := values[case_series.key])]
    if not figures:
        return cases[0]
    return (max if highest else min)(figures, key=lambda pair: pair[0])[1]


def _is_simulated(series: Series) -> bool:
    return series.clock == "simulated"


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
    ways = {c.case_id: Case("", c.runtime, options=c.options, host=c.host) for c in cases}
    down = {member.case_id: member for member in subjects.values()}
    column_members = {member.case_id: member for member in ways.values()}
    row_details = differences(list(down.values()))
    column_details = differences(list(column_members.values()))
    rows = {key: place for place, key in enumerate(down)}
    columns = {key: place for place, key in enumerate(column_members)}
    return Matrix(
        tuple(" ".join([models[member.model], *row_details[key]]) for key, member in down.items()),
        tuple(" ".join([m.runtime, *column_details[key]]) for key, m in column_members.items()),
        {key: (rows[subjects[key].case_id], columns[ways[key].case_id]) for key in subjects},
    )


def status_text(status: str, checked_as: Value) -> str:
    """What a place says: how the case ended, of an engine that can't be opened here `built`."""
    label = BUILT if status == "compiles" and checked_as == BUILT else status
    return label.replace("_", " ")
