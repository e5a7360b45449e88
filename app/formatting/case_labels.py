"""Cases as text: labels that distinguish neighbours, and sets of cases by what they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from math import prod
from pathlib import Path

from app.cases.case import Case
from app.cases.column import Row, pairs_in
from app.cases.dimensions import BY_NAME, DIMENSIONS, GRID, group_of
from app.cases.scenario import Scenario
from app.formatting.text import printable
from app.machine.installed_runtimes import options_of
from exporters.model_names import is_null, null_of, original_of
from exporters.types import FILE_ENDINGS
from runtimes import registry
from runtimes.registry import parse_spec

NO_EXCEPTIONS: Mapping[str, str] = {}
ModelNames = Mapping[str, str]
"""What each model of a run is called, by the model as its cases name it."""
FILE_NAMES: ModelNames = {}
_SEPARATOR = " · "
_DEFAULT_CASE = Case("", "")
"""A case with all at its default."""
_SIZES_AND_OPTIONS = (BY_NAME["axes"], BY_NAME["options"])


def case_label(case: Case, models: ModelNames = FILE_NAMES) -> str:
    """One line that tells a case from any other: `net.onnx ort-cpu batch 4 2 threads`.

    `models` are the `model_labels` of its run; without them a model goes by its file's name alone.
    """
    model = models.get(case.model) or file_name(case.model)
    words = [model, case.runtime]
    for dimension in (*_SIZES_AND_OPTIONS, *GRID, BY_NAME["host"]):
        labels = dimension.labels(case)
        words += labels if labels != dimension.labels(_DEFAULT_CASE) else []
    return printable(" ".join(words))


def labels(cases: Sequence[Case]) -> dict[str, str]:
    """Case id -> label with what differs among these: `cnn_tiny · ort-cpu · batch 4`.

    No two labels are the same: cases that differ in nothing that has a word, as in the content of
    a file, get their ids.
    """
    words = differences(cases)
    names = model_names(case.model for case in cases)
    labels_by_id = {
        c.case_id: printable(_SEPARATOR.join([names[c.model], c.runtime, *words[c.case_id]]))
        for c in cases
    }
    uses = Counter(labels_by_id.values())
    return {
        case_id: label if uses[label] == 1 else f"{label}{_SEPARATOR}case {case_id}"
        for case_id, label in labels_by_id.items()
    }


def shared_and_distinct(label_texts: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Of some of a run's labels the words that all of them share, and by key what is left of each.

    One that has no other word keeps them all: nothing is called by nothing.
    """
    words = {key: label.split(_SEPARATOR) for key, label in label_texts.items()}
    first = next(iter(words.values()), [])
    shared_words = [w for w in first if all(w in other_words for other_words in words.values())]
    rest = {
        key: [word for word in label_words if word not in shared_words]
        for key, label_words in words.items()
    }
    if not all(rest.values()):
        shared_words, rest = [], words
    return _SEPARATOR.join(shared_words), {
        key: _SEPARATOR.join(label_words) for key, label_words in rest.items()
    }


def differences(
    cases: Sequence[Case], exceptions: Mapping[str, str] = NO_EXCEPTIONS
) -> dict[str, list[str]]:
    """Case id -> the words that tell it apart from others, model and runtime left out.

    Sizes distinguish only cases of one model, options only those of one runtime, each of which
    has its own; every other dimension all of them. `but` names by case id a size that is left out.
    """
    words_by_case: dict[str, list[str]] = {case.case_id: [] for case in cases}
    for dimension in DIMENSIONS:
        labels = {
            case.case_id: (
                group_of(case, dimension),
                list(map(printable, dimension.labels(_without_size(case, exceptions)))),
            )
            for case in cases
        }
        _add_differing(words_by_case, labels)
    return words_by_case


def _without_size(case: Case, but: Mapping[str, str]) -> Case:
    name = but.get(case.case_id)
    if name is None:
        return case
    return replace(case, axes={axis: size for axis, size in case.axes.items() if axis != name})


def model_name(model: str) -> str:
    """A catalogue name as it is, a file by its stem."""
    if is_null(model):
        return null_of(model_name(original_of(model)))
    return printable(Path(model).stem if model.endswith(FILE_ENDINGS) else model)


def file_name(model: str) -> str:
    """The last part of a path, a catalogue name as it is."""
    return null_of(file_name(original_of(model))) if is_null(model) else Path(model).name


def model_names(models: Iterable[str]) -> dict[str, str]:
    """Each model's stem; where two models share one, all get the names of `model_labels`."""
    stems = {model: model_name(model) for model in models}
    return stems if len(set(stems.values())) == len(stems) else model_labels(stems)


def model_labels(models: Iterable[str]) -> dict[str, str]:
    """Each model's shortest name that no other has: of a path, as few last parts as needed to tell
    all files of one name apart.

    A null twin goes by the short name of its model.
    """
    unique = list(dict.fromkeys(models))
    parts = {model: Path(model).parts for model in map(original_of, unique)}
    tails = {m: [s[-count:] for count in range(1, len(s) + 1)] for m, s in parts.items()}
    models_with = Counter(chain.from_iterable(tails.values()))
    counts: Counter[str] = Counter()
    for model, segments in tails.items():
        fewest = next((len(tail) for tail in segments if models_with[tail] == 1), len(segments))
        counts[file_name(model)] = max(counts[file_name(model)], fewest)
    labels = {
        model: printable(str(Path(*segments[-counts[file_name(model)] :])) if segments else model)
        for model, segments in parts.items()
    }
    return {m: null_of(labels[original_of(m)]) if is_null(m) else labels[m] for m in unique}


def unusual_options(row: Row) -> str:
    """Of a row's options, those that are not the runtime's defaults."""
    spec = str(row["runtime"])
    options_known = options_of(spec) if parse_spec(spec).name in registry.names() else ()
    defaults = {option.name: str(option.default) for option in options_known}
    pairs = pairs_in(row["options"]).items()
    return " ".join(f"{name}={value}" for name, value in pairs if defaults.get(name) != value)


def _add_differing(
    words_by_case: dict[str, list[str]], group_words: Mapping[str, tuple[str, list[str]]]
) -> None:
    """Add of each case's words those that not all of its group have; `told` has group and words."""
    groups: dict[str, list[list[str]]] = {}
    for group, words in group_words.values():
        groups.setdefault(group, []).append(words)
    word_counts = {
        group: Counter(word for words in members for word in set(words))
        for group, members in groups.items()
    }
    for case_id, (group, words) in group_words.items():
        words_by_case[case_id] += [w for w in words if word_counts[group][w] < len(groups[group])]


_MAXIMUM_VALUES = 6
_MAXIMUM_GROUPS = 4
_MAXIMUM_EXCEPTIONS = 2
_MAXIMUM_SORTED = 5_000

Traits = Mapping[str, str]


class CaseSet:
    """The cases of a run, of which any can be told together by what sets them apart.

    Of a run of many thousands nothing is worked out before it is asked for.
    """

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = {case.case_id: case for case in cases}

    def text(self, case_ids: Sequence[str]) -> str:
        """`8 cases (bert.onnx; ort-cpu, torch-cpu; batch 1, 8; threads 2)`.

        Cases that are no whole grid are told as several that are one each, and many thousands by
        their number.
        """
        count, total = len(case_ids), len(self._cases)
        if count == 1:
            return self._labels[case_ids[0]]
        if total - count <= _MAXIMUM_EXCEPTIONS < count:
            selected_ids = set(case_ids)
            exceptions = [self._labels[c] for c in self._cases if c not in selected_ids]
            return f"all {total} cases" + (f" but {' and '.join(exceptions)}" if exceptions else "")
        if count > _MAXIMUM_SORTED:
            return f"{count:,} of {total:,} cases"
        traits = [self._traits_of(self._cases[case_id]) for case_id in case_ids]
        grids = list(islice(_grids(traits), _MAXIMUM_GROUPS))
        rest = count - sum(map(len, grids))
        grid_texts = " | ".join(map(_grid_text, grids))
        return f"{count} cases ({grid_texts}{f' and {rest} more' if rest else ''})"

    def by_reason(self, reasons: Iterable[tuple[object, object]]) -> Iterator[str]:
        """`2 cases (…): why` for each reason, of pairs of a case's id and its reason if it has
        one; a damaged run may have ids that are of no case."""
        case_ids = dict[str, list[str]]()
        for case_id, reason in reasons:
            if reason and case_id in self._cases:
                case_ids.setdefault(str(reason), []).append(str(case_id))
        yield from (f"{self.text(ids)}: {reason}" for reason, ids in case_ids.items())

    @cached_property
    def _labels(self) -> Mapping[str, str]:
        return labels(list(self._cases.values()))

    @cached_property
    def _models(self) -> Mapping[str, str]:
        return model_labels(case.model for case in self._cases.values())

    @cached_property
    def _differing_traits(self) -> Sequence[str]:
        """The traits by which cases of the run differ.

        A size that only one model has tells nothing, unless it is varied there.
        """
        cases = self._cases.values()
        differing = _differing_names(_traits(case, self._models[case.model]) for case in cases)
        sizes = _axis_size_counts(cases)
        return [name for name in differing if sizes.get(name, 2) > 1]

    def _traits_of(self, case: Case) -> Traits:
        traits = _traits(case, self._models[case.model])
        return {name: traits.get(name, "") for name in self._differing_traits}


def _traits(case: Case, model: str) -> Traits:
    """What a case is, by the name of each trait; model and runtime need none."""
    return {
        "": model,
        " ": case.runtime,
        **{name: str(size) for name, size in case.axes.items()},
        **{dimension.name: _word(getattr(case, dimension.name)) for dimension in GRID},
        "wait": case.wait_policy,
        **{name: str(value) for name, value in case.options.items()},
        "user_files": str(case.given),
        "on": case.host,
    }


def _word(value: object) -> str:
    if isinstance(value, Scenario):
        return value.words
    return "none" if value is None else str(value)


def _axis_size_counts(cases: Iterable[Case]) -> dict[str, int]:
    """How many sizes each axis of the models is given."""
    sizes_by_axis: dict[str, set[int]] = {}
    for case in cases:
        for name, size in case.axes.items():
            sizes_by_axis.setdefault(name, set()).add(size)
    return {name: len(sizes) for name, sizes in sizes_by_axis.items()}


def _differing_names(traits: Iterable[Traits]) -> list[str]:
    """In the order in which they appear; a trait that some lack differs."""
    values: dict[str, set[str]] = {}
    having, count = Counter[str](), 0
    for case_traits in traits:
        count += 1
        having.update(case_traits.keys())
        for name, value in case_traits.items():
            values.setdefault(name, set()).add(value)
    return [
        name
        for name, distinct in values.items()
        if len(distinct) > 1 or (having[name] < count and distinct != {""})
    ]


def _grids(traits: Sequence[Traits]) -> Iterator[Sequence[Traits]]:
    """The same cases in groups of which each has all combinations of its values."""
    differing = _differing_names(traits)
    if prod(len({t[name] for t in traits}) for name in differing) == len(traits):
        yield traits
        return
    first = differing[0]
    for value in dict.fromkeys(case_traits[first] for case_traits in traits):
        yield from _grids([case_traits for case_traits in traits if case_traits[first] == value])


def _grid_text(grid: Sequence[Traits]) -> str:
    words = []
    for name in grid[0]:
        values = [v for v in dict.fromkeys(case_traits[name] for case_traits in grid) if v]
        hidden_count = len(values) - _MAXIMUM_VALUES
        value_text = ", ".join(values[:_MAXIMUM_VALUES]) + (
            f" and {hidden_count} more" if hidden_count > 0 else ""
        )
        if value_text:
            words.append(f"{name} {value_text}".strip())
    return "; ".join(words)
