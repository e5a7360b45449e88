"""A plan -> its cases: names looked up, globs resolved, every axis given a size.

Torch-free. What the plan alone shows wrong is a `PlanError`; a model file that turns out
to be damaged is not: its case ends as a row that says so.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Any

from app.cases.axes import AXES
from app.cases.case import Case
from app.cases.errors import PlanError, suggestion
from app.cases.given import NOTHING, Given
from app.machine.available import availability, available_names, runtime
from app.plan.baseline import refuse_useless
from app.plan.batcher import batched
from app.plan.cold_start import refuse_cold_start
from app.plan.conditions import refuse_impossible, refuse_unfit_neighbours
from app.plan.labelled import refuse_unusable
from app.plan.load import refuse_too_rare
from app.plan.null import null_case, refuse_open_loop
from app.plan.outlines import Outlines
from app.plan.plan import Plan, Sweep
from app.plan.slo import refuse_beside_slo
from exporters.factory_file import is_factory_file, is_hugging_face, locate
from exporters.files.outline_request import OutlineRequest
from exporters.models import catalogue
from exporters.types import ExportError, GraphlapError, TensorSpec
from runtimes.base import Available
from runtimes.faults import RuntimeFault
from runtimes.options import OptionValue
from runtimes.registry import RUNTIMES, parse_spec

_SLOWEST_FIRST = ("precision", "axes", "threads", "options")
"""In which order the cases of a grid follow each other; every other axis varies faster."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """A model of the plan: its open axes with their defaults (None: somebody must set it).

    `batch` and `sequence` are the axes that --batch and the sequence lengths set; `one_of_many`
    says that nobody named this file, a glob found it; `told` that the axes are known before an
    export.
    """

    model: str
    suite: str
    axes: Mapping[str, int | None]
    batch: str | None
    sequence: str | None
    readable: bool = True
    one_of_many: bool = False
    told: bool = True


def expand(plan: Plan) -> tuple[Case, ...]:
    """The plan's cases in its order, each once; PlanError names what it can't resolve."""
    refuse_beside_slo(plan)
    if plan.accuracy:
        refuse_unusable(plan.accuracy)
    given = _given(plan)
    cases: dict[str, Case] = {}
    with Outlines() as outlines:
        named = [
            [subject for text in sweep.models for subject in _subjects(text, given, outlines)]
            for sweep in plan.sweeps
        ]
        refuse_unfit_neighbours(plan, lambda name: _subjects(name, NOTHING, outlines))
    for sweep, subjects in zip(plan.sweeps, named, strict=True):
        if plan.largest_batch:
            sweep = _first_tries(sweep)  # noqa: PLW2901
        batch_axes = {subject.model: subject.batch for subject in subjects if subject.readable}
        sweep = batched(plan, sweep, batch_axes)  # noqa: PLW2901
        _refuse_unknown_axes(sweep, subjects)
        subjects = _without_sizes_as_rows(sweep, subjects)  # noqa: PLW2901
        runtimes = [_checked_runtime(text) for text in sweep.runtimes] or list(available_names())
        if not runtimes:
            raise PlanError(
                "no runtime is available on this machine",
                "pip install 'graphlap[cpu]', or see --doctor",
            )
        _refuse_unknown_options(sweep, runtimes)
        for subject in subjects:
            for case in _grid(sweep, subject, runtimes, given, waits=bool(plan.slo)):
                cases.setdefault(case.case_id, case)
                if plan.null:
                    twin = null_case(case)
                    cases.setdefault(twin.case_id, twin)
    _refuse_if_nothing_can_run(cases.values())
    refuse_cold_start(plan)
    if plan.null:
        refuse_open_loop(cases.values())
    refuse_impossible(plan, cases.values())
    refuse_too_rare(plan, cases.values())
    refuse_useless(plan, tuple(cases.values()))
    return tuple(cases.values())


def _first_tries(sweep: Sweep) -> Sweep:
    """The grid from which a search begins: at batch 1 unless the plan says where."""
    if len(sweep.batch_size) > 1:
        raise PlanError(
            "a search for the largest batch begins at one batch size",
            "give --batch one value, or leave it out",
        )
    return sweep.model_copy(update={"batch_size": sweep.batch_size or (1,)})


def batch_axis(model: str, given: Given = NOTHING) -> str | None:
    """The open axis that is the model's batch; None if its batch is fixed or unknown."""
    with Outlines() as outlines:
        (subject,) = _subjects(model, given, outlines)
    return subject.batch


def _given(plan: Plan) -> Given:
    """The plan's own files and nodes; PlanError for a file that can't be read."""
    first, more = plan.input_files[:1], plan.input_files[1:]
    if more and not plan.rotate_inputs:
        raise PlanError(
            f"--inputs names {1 + len(more)} sets of inputs, and one is fed",
            "add --rotate-inputs, or give one file",
        )
    if plan.rotate_inputs and plan.largest_batch:
        raise PlanError("a search for the largest batch feeds one set", "leave --rotate-inputs out")
    files = {"weights": plan.weights, "inputs": "".join(first), "calibration": plan.calibration}
    return Given.of(
        {name: path for name, path in files.items() if path},
        more,
        from_nodes=plan.from_nodes,
        to_nodes=plan.to_nodes,
        rotate_inputs=plan.rotate_inputs,
        input_range=plan.input_range,
        states=plan.states,
        custom_ops=plan.custom_ops,
    )


def _grid(
    sweep: Sweep, subject: _Subject, runtimes: Sequence[str], given: Given, waits: bool
) -> Iterator[Case]:
    """`waits` says that there will be pauses even where the scenario of the plan has none."""
    points = list(_points(sweep, subject))
    for name in runtimes:
        values: dict[str, Sequence[Any]] = {
            "axes": points,
            "options": list(_option_sets(sweep, name)),
            **{axis.field: [axis.value(v) for v in getattr(sweep, axis.key)] for axis in AXES},
        }
        order = [*_SLOWEST_FIRST, *(field for field in values if field not in _SLOWEST_FIRST)]
        for point in product(*(values[field] for field in order)):
            varied = dict(zip(order, point, strict=True))
            case = Case(model=subject.model, runtime=name, suite=subject.suite, **varied)
            yield replace(
                case,
                wait_policy=sweep.wait_policy if waits or case.scenario.waits else "spin",
                given=given.at(case.precision),
            )


def _subjects(text: str, given: Given, outlines: Outlines) -> Iterator[_Subject]:
    """One model for a name or a path, several for a glob."""
    if (given.from_nodes or given.to_nodes) and not text.endswith(".onnx"):
        raise PlanError(
            f"{text} is no .onnx file, and --from-node and --to-node take a part out of one",
            "give the path of a file",
        )
    if is_factory_file(text) or is_hugging_face(text):
        yield _from_torch(text)
        return
    if not text.endswith(".onnx"):
        yield _from_catalogue(text, given)
        return
    if Path(text).is_file():
        yield _from_file(text, given, outlines)
        return
    # No name has a NUL, and no function of the system takes one.
    found = [] if "\0" in text else sorted(glob.glob(text, recursive=True))  # noqa: PTH207
    if not found:
        raise PlanError(f"no file matches {text!r}", "give the path of an .onnx file or a glob")
    yield from _from_glob(found, given, outlines)


def _from_glob(found: Sequence[str], given: Given, outlines: Outlines) -> Iterator[_Subject]:
    """What fits none of the files is wrong with the plan; what does not fit one, with that one."""
    faults: list[PlanError] = []
    subjects = []
    for path in found:
        try:
            subjects.append(_from_file(path, given, outlines))
        except PlanError as fault:
            faults.append(fault)
            subjects.append(_unreadable(path))
    if len(faults) == len(found):
        raise faults[0]
    yield from (replace(subject, one_of_many=len(found) > 1) for subject in subjects)


def _from_catalogue(name: str, given: Given) -> _Subject:
    with _faults_of_the_plan():
        definition = catalogue.find(name)
    axes = definition.axes
    return _Subject(
        definition.name,
        definition.suite,
        {**axes, **_own_sizes(given, definition.inputs)},
        "batch" if "batch" in axes else None,
        "sequence" if "sequence" in axes else None,
    )


def _from_torch(text: str) -> _Subject:
    """A user's `file.py:factory` or `hf:PATH`: only when it is built does it tell its axes.

    Its cases have the sizes that are asked for, and its export knows all others.
    """
    if is_factory_file(text):
        with _faults_of_the_plan():
            locate(text)
    return _Subject(text, "", {}, "batch", "sequence", told=False)


def _from_file(path: str, given: Given, outlines: Outlines) -> _Subject:
    try:
        seen = outlines.of(OutlineRequest(path, given.from_nodes, given.to_nodes))
    except ExportError as error:
        if given.from_nodes or given.to_nodes:
            raise PlanError(error.cause, error.remedy) from None
        return _unreadable(path)
    sizes = {**dict.fromkeys(seen.axes), **_own_sizes(given, seen.inputs)}
    return _Subject(path, "", sizes, seen.batch or None, seen.sequence or None)


def _unreadable(path: str) -> _Subject:
    """Its export says in its row what is wrong."""
    return _Subject(path, "", {}, None, None, readable=False)


def _own_sizes(given: Given, specs: Sequence[TensorSpec]) -> dict[str, int]:
    """The sizes of the axes that the user's own inputs have; PlanError if they do not fit."""
    if not given.inputs:
        return {}
    from exporters.user_data import axes_of

    with _faults_of_the_plan():
        return axes_of(Path(given.inputs), specs)


def _asked(sweep: Sweep, subject: _Subject) -> dict[str, tuple[int, ...]]:
    """Axis name -> the sizes that the plan gives for it, in this model's own words."""
    asked = dict(sweep.axes)
    if sweep.batch_size and subject.batch:
        asked.setdefault(subject.batch, sweep.batch_size)
    if sweep.sequence_length and subject.sequence:
        asked.setdefault(subject.sequence, sweep.sequence_length)
    return asked


def _missing(sweep: Sweep, subject: _Subject) -> list[str]:
    """The axes that neither the plan nor the model gives a size."""
    asked = _asked(sweep, subject)
    return [n for n, size in subject.axes.items() if size is None and not asked.get(n)]


def _without_sizes_as_rows(sweep: Sweep, subjects: Sequence[_Subject]) -> list[_Subject]:
    """An axis without a size is a mistake of the plan, but in a few of a glob's many files."""
    if all(_missing(sweep, subject) for subject in subjects if subject.readable):
        return list(subjects)
    return [
        _unreadable(subject.model) if subject.one_of_many and _missing(sweep, subject) else subject
        for subject in subjects
    ]


def _points(sweep: Sweep, subject: _Subject) -> Iterator[dict[str, int]]:
    asked = _asked(sweep, subject)
    defaults = {name: (size,) for name, size in subject.axes.items() if size is not None}
    axes = subject.axes if subject.told else asked
    sizes = {name: asked.get(name, defaults.get(name, ())) for name in axes}
    if missing := _missing(sweep, subject):
        flags = ["--batch 1,2,4" if n == subject.batch else f"--axis {n}=1,2,4" for n in missing]
        raise PlanError(
            f"{subject.model} leaves open how large {' and '.join(map(repr, missing))} is",
            f"set it with {' '.join(flags)}",
        )
    for point in product(*sizes.values()):
        yield dict(zip(sizes, point, strict=True))


def _refuse_unknown_axes(sweep: Sweep, subjects: Sequence[_Subject]) -> None:
    """An axis that no model of the sweep has is a mistake; one that only some lack is not."""
    if not all(subject.readable and subject.told for subject in subjects):
        return
    known = dict.fromkeys(axis for subject in subjects for axis in subject.axes)
    for axis in sweep.axes:
        if axis not in known:
            raise PlanError(
                f"none of the models has an axis {axis!r}",
                suggestion(axis, known) if known else "all their sizes are fixed",
            )
    if any(size > 1 for size in sweep.batch_size) and not any(s.batch for s in subjects):
        raise PlanError("none of the models has an open batch axis", "leave --batch out")
    if sweep.sequence_length and not any(subject.sequence for subject in subjects):
        raise PlanError(
            "none of the models has an open sequence axis", "name a sequence model (…_seq)"
        )


def _checked_runtime(text: str) -> str:
    spec = parse_spec(text)
    name = spec.name
    if name not in RUNTIMES:
        raise PlanError(f"there is no runtime called {name!r}", suggestion(name, RUNTIMES))
    if isinstance(availability(name), Available):
        with _faults_of_the_plan():
            runtime(name).refuse_device(spec.device, spec.release)
    return text


def _refuse_if_nothing_can_run(cases: Iterable[Case]) -> None:
    """A precision that none of the runtimes executes is a mistake; one that some lack is a row."""
    faults = []
    for case in cases:
        try:
            runtime(parse_spec(case.runtime).name).refuse_precision(case.precision)
        except RuntimeFault as fault:
            faults.append(fault)
        else:
            return
    with _faults_of_the_plan():
        raise faults[0]


@contextmanager
def _faults_of_the_plan() -> Iterator[None]:
    """What a runtime or an export would say of a case, said of the plan before it begins."""
    try:
        yield
    except GraphlapError as fault:
        raise PlanError(fault.cause, fault.remedy) from None


def _refuse_unknown_options(sweep: Sweep, runtimes: Sequence[str]) -> None:
    measured = {parse_spec(text).name for text in runtimes}
    for key, values in sweep.options.items():
        name, _, option_name = key.partition(".")
        if name not in RUNTIMES:
            raise PlanError(
                f"the option {key!r} names no runtime",
                f"write it as runtime.option; {suggestion(name, RUNTIMES)}",
            )
        if name not in measured:
            raise PlanError(
                f"the option {key!r} is for a runtime that is not measured",
                f"add {name} to the runtimes or leave the option out",
            )
        options = {option.name: option for option in runtime(name).options}
        if option_name not in options:
            raise PlanError(
                f"{name} has no option {option_name!r}", _known_options(option_name, list(options))
            )
        for value in values:
            try:
                options[option_name].parse(str(value))
            except ValueError as error:
                cause, _, remedy = f"{name}.{error}".partition("; ")
                raise PlanError(cause, remedy) from None


def _known_options(word: str, known: Sequence[str]) -> str:
    """All that there are, with the one that was probably meant in front."""
    if not known:
        return "it has none"
    near = [f"did you mean {name!r}? " for name in get_close_matches(word, known, n=1)]
    return f"{''.join(near)}its options are {', '.join(known)}"


def _option_sets(sweep: Sweep, text: str) -> Iterator[dict[str, OptionValue]]:
    """The product of this runtime's option values, defaults left out.

    A default that is spelled out is the same case as one that is not: both run the same.
    The rows tell all options, those with their default too.
    """
    name = parse_spec(text).name
    options = {option.name: option for option in runtime(name).options}
    axes = {
        key.partition(".")[2]: values
        for key, values in sweep.options.items()
        if key.partition(".")[0] == name
    }
    for point in product(*axes.values()):
        typed = {
            option: options[option].parse(str(value))
            for option, value in zip(axes, point, strict=True)
        }
        yield {option: value for option, value in typed.items() if value != options[option].default}
