"""A word of a plan -> the models that it names: with their axes, as far as those are known."""

from __future__ import annotations

import glob
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.cases.errors import PlanError
from app.cases.given import NOTHING, Given
from app.plan.outlines import Outlines
from exporters.factory_file import is_factory_file, is_hugging_face, locate
from exporters.files.outline_request import OutlineRequest
from exporters.models import catalogue
from exporters.types import FILE_ENDINGS, ExportError, GraphlapError, TensorSpec


@dataclass(frozen=True, slots=True)
class Subject:
    """A model of the plan: its open axes with their defaults (None: somebody must set it).

    `batch` and `sequence` are the axes that --batch and the sequence lengths set; `one_of_many`
    says that nobody named this file, a glob found it; `told` that the axes are known before an
    export. `assumed` are the axes whose default is a guess at what users of such a graph would
    set, and `sums` those that follow from others, with their addends.
    """

    model: str
    suite: str
    axes: Mapping[str, int | None]
    batch: str | None
    sequence: str | None
    readable: bool = True
    one_of_many: bool = False
    told: bool = True
    assumed: Collection[str] = ()
    sums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def batch_axis(model: str, given: Given = NOTHING) -> str | None:
    """The open axis that is the model's batch; None if its batch is fixed or unknown."""
    with Outlines() as outlines:
        (subject,) = subjects(model, given, outlines)
    return subject.batch


def subjects(text: str, given: Given, outlines: Outlines) -> Iterator[Subject]:
    """One model for a name or a path, several for a glob."""
    if (given.from_nodes or given.to_nodes) and not text.endswith(FILE_ENDINGS):
        raise PlanError(
            f"{text} is no .onnx file, and --from-node and --to-node take a part out of one",
            "give the path of a file",
        )
    if is_factory_file(text) or is_hugging_face(text):
        yield _from_torch(text)
        return
    if not text.endswith(FILE_ENDINGS):
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


def _from_glob(found: Sequence[str], given: Given, outlines: Outlines) -> Iterator[Subject]:
    """What fits none of the files is wrong with the plan; what does not fit one, with that one."""
    faults: list[PlanError] = []
    subjects = []
    for path in found:
        try:
            subjects.append(_from_file(path, given, outlines))
        except PlanError as fault:
            faults.append(fault)
            subjects.append(unreadable(path))
    if len(faults) == len(found):
        raise faults[0]
    yield from (replace(subject, one_of_many=len(found) > 1) for subject in subjects)


def _from_catalogue(name: str, given: Given) -> Subject:
    with faults_of_the_plan():
        definition = catalogue.find(name)
    axes = definition.axes
    return Subject(
        definition.name,
        definition.suite,
        {**axes, **_own_sizes(given, definition.inputs)},
        "batch" if "batch" in axes else None,
        "sequence" if "sequence" in axes else None,
    )


def _from_torch(text: str) -> Subject:
    """A user's `file.py:factory` or `hf:PATH`: only when it is built does it tell its axes.

    Its cases have the sizes that are asked for, and its export knows all others.
    """
    if is_factory_file(text):
        with faults_of_the_plan():
            locate(text)
    return Subject(text, "", {}, "batch", "sequence", told=False)


def _from_file(path: str, given: Given, outlines: Outlines) -> Subject:
    try:
        seen = outlines.of(OutlineRequest(path, given.from_nodes, given.to_nodes))
    except ExportError as error:
        if given.from_nodes or given.to_nodes:
            raise PlanError(error.cause, error.remedy) from None
        return unreadable(path)
    own = _own_sizes(given, seen.inputs)
    sizes = {**dict.fromkeys(seen.axes), **seen.assumed, **own}
    return Subject(
        path,
        "",
        sizes,
        seen.batch or None,
        seen.sequence or None,
        assumed=[axis for axis in seen.assumed if axis not in own],
        sums={axis: addends for axis, addends in seen.sums.items() if axis not in own},
    )


def unreadable(path: str) -> Subject:
    """Its export says in its row what is wrong."""
    return Subject(path, "", {}, None, None, readable=False)


def _own_sizes(given: Given, specs: Sequence[TensorSpec]) -> dict[str, int]:
    """The sizes of the axes that the user's own inputs have; PlanError if they do not fit."""
    if not given.inputs:
        return {}
    from exporters.user_data import axes_of

    with faults_of_the_plan():
        return axes_of(Path(given.inputs), specs)


@contextmanager
def faults_of_the_plan() -> Iterator[None]:
    """What a runtime or an export would say of a case, said of the plan before it begins."""
    try:
        yield
    except GraphlapError as fault:
        raise PlanError(fault.cause, fault.remedy) from None
