"""Cases as a matrix: over two settings with the best in each place, or a check's results.

The best of a row of the matrix is of one clock, and of one precision unless that is what the
matrix is over: what is simulated is no rival of what is measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.cases.case import Case
from app.cases.column import Value
from app.formatting.case_labels import differences, model_labels
from app.plot_data.series import Series, comparison_key, number, ranked, variants
from app.plot_data.settings import Setting, in_order, settings

VARIANT = "variant"
"""The runtime with all else that differs, as one setting."""
_MODEL = Setting("column", "model", numeric=False)
_NONE = "none"
"""What stands for a setting that a case has not."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The best of the cases in this place, which are so `many`.

    `value` is its figure, None where it has none to rank; `ratio` >= 1 how far that is from the
    best of those in its row that it can be compared with, None where there is no other.
    """

    row: int
    column: int
    case: Series
    many: int
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
    found = {_MODEL.key: _MODEL.title, VARIANT: "Runtime and all else"}
    return found | {one.key: one.title for one in settings(series) if one.key not in found}


def pivot(series: Sequence[Series], down: str, across: str, figure: str, *, highest: bool) -> Pivot:
    """`down` and `across` are keys of `sides`, `figure` is a column of which `highest` is best."""
    shown = sorted(series, key=_is_simulated)
    rows, names = _values(series, shown, down), _values(series, shown, across)
    columns = {key: (_is_simulated(one), names[1][key]) for one in shown for key in [one.key]}
    order = {name: place for place, name in enumerate(names[0])}
    across_all = sorted(set(columns.values()), key=lambda c: (c[0], order[c[1]]))
    down_at = {name: place for place, name in enumerate(rows[0])}
    across_at = {column: place for place, column in enumerate(across_all)}
    places: dict[tuple[int, int], list[Series]] = {}
    for one in shown:
        place = down_at[rows[1][one.key]], across_at[columns[one.key]]
        places.setdefault(place, []).append(one)
    well = {one.key for one in ranked(shown)}
    values = {one.key: number(one, figure) if one.key in well else None for one in shown}
    best = {place: _best(cases, values, highest=highest) for place, cases in places.items()}
    over_precision = "precision" in (down, across)
    leads: dict[tuple[object, ...], float] = {}
    rivals = {
        place: (place[0], *comparison_key(case, over_precision=over_precision))
        for place, case in best.items()
    }
    for place, case in best.items():
        if value := values[case.key]:
            leads[rivals[place]] = (max if highest else min)(leads.get(rivals[place], value), value)
    compared = Counter(rivals[place] for place, case in best.items() if values[case.key])
    cells = []
    for place, case in best.items():
        value, lead = values[case.key] or None, leads.get(rivals[place])
        ratio = None
        if value and lead and compared[rivals[place]] > 1:
            ratio = lead / value if highest else value / lead
        cells.append(Cell(*place, case, len(places[place]), value, ratio))
    return Pivot(tuple(rows[0]), tuple(name for _, name in across_all), tuple(cells))


def _values(
    among: Sequence[Series], shown: Sequence[Series], key: str
) -> tuple[list[str], dict[str, str]]:
    """The values of a setting in their order, and each case's by its key."""
    if key == VARIANT:
        names = variants(shown)
        return list(dict.fromkeys(names[one.key] for one in shown)), names
    setting = next((one for one in settings(among) if one.key == key), _MODEL)
    found = {one.key: setting.value(one) for one in shown}
    there = set(found.values())
    ordered = in_order(setting, [v for one in among if (v := setting.value(one)) in there and v])
    lacking = [_NONE] if None in there else []
    return [*ordered, *lacking], {key: value or _NONE for key, value in found.items()}


def _best(cases: Sequence[Series], values: Mapping[str, float | None], *, highest: bool) -> Series:
    known = [(value, one) for one in cases if (value := values[one.key])]
    if not known:
        return cases[0]
    return (max if highest else min)(known, key=lambda pair: pair[0])[1]


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
