"""Cases as text for people: the one place where it is chosen what tells one from its neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from app.cases.axes import AXES
from app.cases.case import Case
from app.machine.available import options_of
from app.results.plain import printable
from exporters.twins import is_null, null_of, original_of
from exporters.types import FILE_ENDINGS
from runtimes import registry
from runtimes.registry import parse_spec

NONE_LEFT_OUT: Mapping[str, str] = {}
ModelNames = Mapping[str, str]
"""What each model of a run is called, by the model as its cases name it."""
FILE_NAMES: ModelNames = {}
_BETWEEN = " · "
_USUAL = Case("", "")
"""A case with all at its default."""


def case_label(case: Case, models: ModelNames = FILE_NAMES) -> str:
    """One line that tells a case from any other: `net.onnx ort-cpu batch 4 2 threads`.

    `models` are the `model_labels` of its run; without them a model goes by its file's name alone.
    """
    model = models.get(case.model) or file_name(case.model)
    words = [model, case.runtime, *_sizes(case), *_options(case)]
    words += [told for axis in AXES if (told := axis.told(case)) != axis.told(_USUAL)]
    return printable(" ".join([*words, *_host(case)]))


def labels(cases: Sequence[Case]) -> dict[str, str]:
    """Case id -> label with what differs among these: `cnn_tiny · ort-cpu · batch 4`.

    No two labels are the same: cases that differ in nothing that has a word, as in the content of
    a file, get their ids.
    """
    apart = differences(cases)
    names = model_names(case.model for case in cases)
    found = {
        case.case_id: printable(
            _BETWEEN.join([names[case.model], case.runtime, *apart[case.case_id]])
        )
        for case in cases
    }
    uses = Counter(found.values())
    return {
        case_id: label if uses[label] == 1 else f"{label}{_BETWEEN}case {case_id}"
        for case_id, label in found.items()
    }


def apart(told: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Of some of a run's labels the words that all of them share, and by key what is left of each.

    One that has no other word keeps them all: nothing is called by nothing.
    """
    words = {key: label.split(_BETWEEN) for key, label in told.items()}
    first = next(iter(words.values()), [])
    shared = [word for word in first if all(word in others for others in words.values())]
    left = {key: [word for word in own if word not in shared] for key, own in words.items()}
    if not all(left.values()):
        shared, left = [], words
    return _BETWEEN.join(shared), {key: _BETWEEN.join(own) for key, own in left.items()}


def differences(
    cases: Sequence[Case], but: Mapping[str, str] = NONE_LEFT_OUT
) -> dict[str, list[str]]:
    """Case id -> the words that tell it apart from others, model and runtime left out.

    Sizes set apart only cases of one model, options only those of one runtime, each of which
    has its own; every other axis all of them. `but` names by case id a size that is left out.
    """
    found: dict[str, list[str]] = {case.case_id: [] for case in cases}
    for axis in AXES:
        told = {case.case_id: axis.told(case) for case in cases}
        if len(set(told.values())) > 1:
            _add_differing(found, {case_id: ("", [word]) for case_id, word in told.items()})
    sizes = {case.case_id: (case.model, _sizes(case, but.get(case.case_id, ""))) for case in cases}
    _add_differing(found, sizes)
    _add_differing(found, {case.case_id: (case.runtime, _options(case)) for case in cases})
    _add_differing(found, {case.case_id: (case.model, str(case.given).split()) for case in cases})
    _add_differing(found, {case.case_id: ("", _host(case)) for case in cases})
    return found


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
    """Each model's shortest name that no other has: of a path, as few last parts as needed.

    A null twin goes by the short name of its model.
    """
    named = list(dict.fromkeys(models))
    parts = {model: Path(model).parts for model in map(original_of, named)}
    tails = {
        model: [own[-count:] for count in range(1, len(own) + 1)] for model, own in parts.items()
    }
    models_with = Counter(chain.from_iterable(tails.values()))
    labels = {}
    for model, own in tails.items():
        shortest = (str(Path(*tail)) for tail in own if models_with[tail] == 1)
        labels[model] = printable(next(shortest, model))
    return {
        model: null_of(labels[original_of(model)]) if is_null(model) else labels[model]
        for model in named
    }


def unusual_options(spec: str, options: str) -> str:
    """Of a row's `options`, those that are not the runtime's defaults."""
    known = options_of(spec) if parse_spec(spec).name in registry.names() else ()
    usual = {f"{option.name}={option.default}" for option in known}
    return " ".join(pair for pair in options.split(" ") if pair not in usual)


def _sizes(case: Case, but: str = "") -> list[str]:
    return [f"{printable(name)} {case.axes[name]}" for name in sorted(case.axes) if name != but]


def _options(case: Case) -> list[str]:
    return [f"{name}={value}" for name, value in sorted(case.options.items())]


def _host(case: Case) -> list[str]:
    return [f"on {printable(case.host)}"] if case.host else []


def _add_differing(found: dict[str, list[str]], told: Mapping[str, tuple[str, list[str]]]) -> None:
    """Add of each case's words those that not all of its group have; `told` has group and words."""
    groups: dict[str, list[list[str]]] = {}
    for group, words in told.values():
        groups.setdefault(group, []).append(words)
    shared = {
        group: Counter(word for words in among for word in set(words))
        for group, among in groups.items()
    }
    for case_id, (group, words) in told.items():
        found[case_id] += [word for word in words if shared[group][word] < len(groups[group])]
