"""Several cases as one text: what they share and what they differ in, instead of a list of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from math import prod

from app.cases.axes import AXES
from app.cases.case import Case
from app.cases.scenario import Scenario
from app.results.labels import labels, model_labels

_MOST_VALUES = 6
_MOST_GROUPS = 4
_MOST_EXCEPTED = 2
_MOST_SORTED = 5_000

Traits = Mapping[str, str]


class Together:
    """The cases of a run, of which any can be told together by what sets them apart.

    Of a run of many thousands nothing is worked out before it is asked for.
    """

    def __init__(self, among: Sequence[Case]) -> None:
        self._cases = {case.case_id: case for case in among}

    def text(self, case_ids: Sequence[str]) -> str:
        """`8 cases (bert.onnx; ort-cpu, torch-cpu; batch 1, 8; threads 2)`.

        Cases that are no whole grid are told as several that are one each, and many thousands by
        their number.
        """
        count, all_of_them = len(case_ids), len(self._cases)
        if count == 1:
            return self._labels[case_ids[0]]
        if all_of_them - count <= _MOST_EXCEPTED < count:
            known = set(case_ids)
            others = [self._labels[case_id] for case_id in self._cases if case_id not in known]
            return f"all {all_of_them} cases" + (f" but {' and '.join(others)}" if others else "")
        if count > _MOST_SORTED:
            return f"{count:,} of {all_of_them:,} cases"
        told = [self._traits_of(self._cases[case_id]) for case_id in case_ids]
        grids = list(islice(_grids(told), _MOST_GROUPS))
        left = count - sum(map(len, grids))
        told_of = " | ".join(map(_grid_text, grids))
        return f"{count} cases ({told_of}{f' and {left} more' if left else ''})"

    @cached_property
    def _labels(self) -> Mapping[str, str]:
        return labels(list(self._cases.values()))

    @cached_property
    def _models(self) -> Mapping[str, str]:
        return model_labels(case.model for case in self._cases.values())

    @cached_property
    def _apart(self) -> Sequence[str]:
        """The traits by which cases of the run differ.

        A size that only one model has tells nothing, unless it is varied there.
        """
        cases = self._cases.values()
        differing = _that_differ(_traits(case, self._models[case.model]) for case in cases)
        sizes = _sizes(cases)
        return [name for name in differing if sizes.get(name, 2) > 1]

    def _traits_of(self, case: Case) -> Traits:
        told = _traits(case, self._models[case.model])
        return {name: told.get(name, "") for name in self._apart}


def _traits(case: Case, model: str) -> Traits:
    """What a case is, by the name of each trait; model and runtime need none."""
    return {
        "": model,
        " ": case.runtime,
        **{name: str(size) for name, size in case.axes.items()},
        **{axis.field: _word(getattr(case, axis.field)) for axis in AXES},
        "wait": case.wait_policy,
        **{name: str(value) for name, value in case.options.items()},
        "user_files": str(case.given),
        "on": case.host,
    }


def _word(value: object) -> str:
    if isinstance(value, Scenario):
        return value.words
    return "none" if value is None else str(value)


def _sizes(among: Iterable[Case]) -> dict[str, int]:
    """How many sizes each axis of the models is given."""
    found: dict[str, set[int]] = {}
    for case in among:
        for name, size in case.axes.items():
            found.setdefault(name, set()).add(size)
    return {name: len(sizes) for name, sizes in found.items()}


def _that_differ(traits: Iterable[Traits]) -> list[str]:
    """In the order in which they appear; a trait that some lack differs."""
    values: dict[str, set[str]] = {}
    having, count = Counter[str](), 0
    for told in traits:
        count += 1
        having.update(told.keys())
        for name, value in told.items():
            values.setdefault(name, set()).add(value)
    return [
        name
        for name, found in values.items()
        if len(found) > 1 or (having[name] < count and found != {""})
    ]


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
