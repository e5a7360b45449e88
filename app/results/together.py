"""Several cases as one text: what they share and what they differ in, instead of a list of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from app.cases.axes import AXES
from app.cases.case import Case
from app.cases.scenario import Scenario
from app.results.labels import labels, model_labels

_MOST_VALUES = 6
_MOST_GROUPS = 4
_MOST_EXCEPTED = 2

Traits = Mapping[str, str]


class Together:
    """The cases of a run, of which any can be told together by what sets them apart."""

    def __init__(self, among: Sequence[Case]) -> None:
        self._labels = labels(among)
        models = model_labels(case.model for case in among)
        traits = {case.case_id: _traits(case, models[case.model]) for case in among}
        sizes = _sizes(among)
        # A size that only one model has tells nothing, unless it is varied there.
        apart = [name for name in _that_differ(list(traits.values())) if sizes.get(name, 2) > 1]
        self._traits = {
            case_id: {name: told.get(name, "") for name in apart}
            for case_id, told in traits.items()
        }

    def text(self, case_ids: Sequence[str]) -> str:
        """`8 cases (bert.onnx; ort-cpu, torch-cpu; batch 1, 8; threads 2)`.

        Cases that are no whole grid are told as several that are one each.
        """
        count, all_of_them = len(case_ids), len(self._labels)
        if count == 1:
            return self._labels[case_ids[0]]
        if all_of_them - count <= _MOST_EXCEPTED < count:
            known = set(case_ids)
            others = [label for case_id, label in self._labels.items() if case_id not in known]
            return f"all {all_of_them} cases" + (f" but {' and '.join(others)}" if others else "")
        grids = list(_grids([self._traits[case_id] for case_id in case_ids]))
        told = [_grid_text(grid) for grid in grids[:_MOST_GROUPS]]
        left = sum(map(len, grids[_MOST_GROUPS:]))
        return f"{count} cases ({' | '.join(told)}{f' and {left} more' if left else ''})"


def _traits(case: Case, model: str) -> Traits:
    """What a case is, by the name of each trait; model and runtime need none."""
    return {
        "": model,
        " ": case.runtime,
        **{name: str(size) for name, size in case.axes.items()},
        **{axis.field: _word(getattr(case, axis.field)) for axis in AXES},
        "wait": case.wait_policy,
        **{name: str(value) for name, value in case.options.items()},
        "given": str(case.given),
        "on": case.host,
    }


def _word(value: object) -> str:
    if isinstance(value, Scenario):
        return value.words
    return "none" if value is None else str(value)


def _sizes(among: Sequence[Case]) -> dict[str, int]:
    """How many sizes each axis of the models is given."""
    found: dict[str, set[int]] = {}
    for case in among:
        for name, size in case.axes.items():
            found.setdefault(name, set()).add(size)
    return {name: len(sizes) for name, sizes in found.items()}


def _that_differ(traits: Sequence[Traits]) -> list[str]:
    names = dict.fromkeys(name for told in traits for name in told)
    return [name for name in names if len({told.get(name, "") for told in traits}) > 1]


def _grids(traits: Sequence[Traits]) -> Iterator[Sequence[Traits]]:
    """The same cases in groups of which each has all combinations of its values."""
    differing = _that_differ(traits)
    if prod(len({told[name] for told in traits}) for name in differing) == len(traits):
        yield traits
        return
    first = differing[0]
    for value in dict.fromkeys(told[first] for told in traits):
        yield from _grids([told for told in traits if told[first] == value])


def _grid_text(grid: Sequence[Traits]) -> str:
    words = []
    for name in grid[0]:
        values = [value for value in dict.fromkeys(told[name] for told in grid) if value]
        more = len(values) - _MOST_VALUES
        listed = ", ".join(values[:_MOST_VALUES]) + (f" and {more} more" if more > 0 else "")
        if listed:
            words.append(f"{name} {listed}".strip())
    return "; ".join(words)
