"""Several cases as one text: what they share and what they differ in, instead of a list of all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from app.cases.axes import AXES
from app.cases.case import Case
from app.results.labels import labels, model_labels

_MOST_VALUES = 6
_MOST_GROUPS = 4
_MOST_EXCEPTED = 2


def cases_text(some: Sequence[Case], among: Sequence[Case]) -> str:
    """`8 cases (bert.onnx; ort-cpu, torch-cpu; batch 1, 8; threads 2)`.

    Told is what tells cases apart `among` all of the run. Cases that are no whole grid are told
    as several that are one each.
    """
    if len(some) == 1:
        return labels(among)[some[0].case_id]
    names = labels(among)
    known = {case.case_id for case in some}
    others = [names[case.case_id] for case in among if case.case_id not in known]
    if len(others) <= _MOST_EXCEPTED < len(some):
        return f"all {len(among)} cases" + (f" but {' and '.join(others)}" if others else "")
    return _in_grids(some, among)


def _in_grids(some: Sequence[Case], among: Sequence[Case]) -> str:
    names = model_labels(case.model for case in among)
    apart = [
        name
        for name in _that_differ([_traits(case, names[case.model]) for case in among])
        # A size that only one model has tells nothing, unless it is varied there.
        if len({case.axes[name] for case in among if name in case.axes}) != 1
    ]
    traits = [_traits(case, names[case.model]) for case in some]
    grids = list(_grids([{name: told.get(name, "") for name in apart} for told in traits]))
    told = [_grid_text(grid) for grid in grids[:_MOST_GROUPS]]
    left = sum(map(len, grids[_MOST_GROUPS:]))
    more = f" and {left} more" if left else ""
    return f"{len(some)} cases ({' | '.join(told)}{more})"


def _traits(case: Case, model: str) -> dict[str, str]:
    """What a case is, by the name of each trait; model and runtime need none."""
    return {
        "": model,
        " ": case.runtime,
        **{name: str(size) for name, size in case.axes.items()},
        **{axis.field: str(getattr(case, axis.field)) for axis in AXES},
        "wait": case.wait_policy,
        **{name: str(value) for name, value in case.options.items()},
        "given": str(case.given),
    }


def _that_differ(traits: Sequence[dict[str, str]]) -> list[str]:
    names = dict.fromkeys(name for told in traits for name in told)
    return [name for name in names if len({told.get(name, "") for told in traits}) > 1]


def _grids(traits: Sequence[dict[str, str]]) -> Iterable[Sequence[dict[str, str]]]:
    """The same cases in groups of which each has all combinations of its values."""
    differing = _that_differ(traits)
    if prod(len({told[name] for told in traits}) for name in differing) == len(traits):
        yield traits
        return
    first = differing[0]
    for value in dict.fromkeys(told[first] for told in traits):
        yield from _grids([told for told in traits if told[first] == value])


def _grid_text(grid: Sequence[dict[str, str]]) -> str:
    words = []
    for name in grid[0]:
        values = [value for value in dict.fromkeys(told[name] for told in grid) if value]
        more = len(values) - _MOST_VALUES
        listed = ", ".join(values[:_MOST_VALUES]) + (f" and {more} more" if more > 0 else "")
        if listed:
            words.append(f"{name} {listed}".strip())
    return "; ".join(words)
