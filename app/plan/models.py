"""Names of a plan resolved to models, with axes read by a child process, and labelled data."""

from __future__ import annotations

import contextlib
import glob
import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Self

import psutil

from app.cases.errors import PlanError
from app.cases.jobs import BATCH
from app.cases.user_files import (
    NO_USER_FILES,
    UserFiles,
    image_files,
    label_count,
    needs_pillow,
    nothing_at,
)
from app.machine.child import Bell, Child
from exporters import install_layout
from exporters.codec import from_json, to_json
from exporters.file_access import user_path
from exporters.foreign_files import foreign
from exporters.input_sets import data_beside
from exporters.messages import Outline, OutlineReply, OutlineRequest
from exporters.model_names import is_factory_file, is_hugging_face, locate
from exporters.models import catalogue
from exporters.types import FILE_ENDINGS, ExportError, GraphlapError, TensorSpec, axes_key
from exporters.user_arrays import axes_of

COMMAND = install_layout.command("exporters.onnx_files.outline")
MEMORY_LIMIT_BYTES = 6 * 2**30
"""A graph of 2 GiB that is cut is held three times."""
LOOK_EVERY_S = 0.05

_FileState = tuple[int, int]
_replies: dict[tuple[OutlineRequest, _FileState | None], OutlineReply] = {}
"""A window plans anew with every key that is typed: a file is read again once it has changed."""


class Outlines:
    """A context manager; its child, `command`, is started with the first file asked for."""

    def __init__(
        self,
        command: Sequence[str] = COMMAND,
        time_limit_s: float = 20.0,
        memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
    ) -> None:
        self._command, self._time_limit_s = command, time_limit_s
        self._memory_limit_bytes = memory_limit_bytes
        self._bell = Bell()
        self._child: Child | None = None

    def outline_of(self, request: OutlineRequest) -> Outline:
        """ExportError for what is wrong with the file, as its export would say it."""
        file = _state_of(request.path)
        reply = _replies.get((request, file)) or self._ask(request)
        # What was missing beside a file may be there at the next look, and the file the same.
        if file is not None and not (request.closely and reply.outline is None):
            _replies[request, file] = reply
        if reply.outline is None:
            raise ExportError(reply.cause, reply.remedy)
        return reply.outline

    def close(self) -> None:
        self._end_child()
        self._bell.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, request: OutlineRequest) -> OutlineReply:
        if self._child is None:
            self._child = Child(self._command, self._bell)
        child, deadline = self._child, time.monotonic() + self._time_limit_s
        child.send(json.dumps(to_json(request)))
        while True:
            is_finished = child.ended()
            for line in child.lines():
                with contextlib.suppress(ValueError, RecursionError):
                    return from_json(OutlineReply, json.loads(line))
            reason = self._abort_reason(child, is_finished, deadline)
            if reason:
                self._end_child()
                if request.tried and not request.closely:
                    return self._ask(replace(request, tried=False))
                return OutlineReply(None, f"{request.path} could not be read: {reason}")
            self._bell.wait(LOOK_EVERY_S)

    def _abort_reason(self, child: Child, is_finished: bool, deadline: float) -> str:
        """Why no reply is waited for any longer; empty while one is."""
        if is_finished:
            return f"the process that reads it ended with {child.how_it_ended()}"
        if time.monotonic() >= deadline:
            return f"it took longer than {self._time_limit_s:g} s"
        with contextlib.suppress(psutil.Error):
            if psutil.Process(child.pid).memory_info().rss > self._memory_limit_bytes:
                return f"it took more than {self._memory_limit_bytes >> 20:,} MiB of memory"
        return ""

    def _end_child(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None


def _state_of(path: str) -> _FileState | None:
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


def data_for(model: str, source: str) -> str:
    """What the plan gives, else the definition's own, else ''."""
    if source:
        return source
    with suppress(GraphlapError):
        return catalogue.find(model).labelled
    return ""


def reject_unusable(source: str) -> None:
    """PlanError for a path that holds no labelled images, or fewer than a batch of them."""
    path = Path(source)
    if path.is_dir():
        if find_spec("PIL") is None:
            raise needs_pillow()
        count = len(image_files(path)[0])
    elif path.is_file():
        count = label_count(path)
    else:
        raise nothing_at(source)
    if count < BATCH:
        raise PlanError(
            f"{source} holds {count} images, and accuracy is measured in batches of {BATCH}",
            f"give at least {BATCH}",
        )


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model of the plan: its open axes with their defaults (None: somebody must set it).

    `batch` and `sequence` are the axes that --batch and the sequence lengths set; `one_of_many`
    says that nobody named this file, a glob found it; `axes_known` that the axes are known before
    an export. `assumed` are the axes whose default is a guess at what users of such a graph would
    set, and `sums` those that follow from others, with their addends. `prefill` has sizes that are
    assumed instead where nothing is `past`.
    """

    model: str
    suite: str
    axes: Mapping[str, int | None]
    batch: str | None
    sequence: str | None
    readable: bool = True
    one_of_many: bool = False
    axes_known: bool = True
    assumed: Collection[str] = ()
    sums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    past: str = ""
    prefill: Mapping[str, int] = field(default_factory=dict)


def batch_axis(model: str, user_files: UserFiles = NO_USER_FILES) -> str | None:
    """The open axis that is the model's batch; None if its batch is fixed or unknown."""
    with Outlines() as outlines:
        (subject,) = resolve_models(model, user_files, outlines)
    return subject.batch


def resolve_models(text: str, user_files: UserFiles, outlines: Outlines) -> Iterator[ResolvedModel]:
    """One model for a name or a path, several for a glob."""
    if (user_files.from_nodes or user_files.to_nodes) and not text.endswith(FILE_ENDINGS):
        raise PlanError(
            f"{text} is no .onnx file, and --from-node and --to-node take a part out of one",
            "give the path of a file",
        )
    if is_factory_file(text) or is_hugging_face(text):
        yield _from_torch(text)
        return
    if not text.endswith(FILE_ENDINGS):
        yield _from_catalogue(text, user_files)
        return
    if Path(text).is_file():
        yield _from_file(text, user_files, outlines)
        return
    # No name has a NUL, and no function of the system takes one.
    paths = [] if "\0" in text else sorted(glob.glob(text, recursive=True))  # noqa: PTH207
    if not paths:
        raise PlanError(f"no file matches {text!r}", "give the path of an .onnx file or a glob")
    yield from _from_glob(paths, user_files, outlines)


def _from_glob(
    paths: Sequence[str], user_files: UserFiles, outlines: Outlines
) -> Iterator[ResolvedModel]:
    """What fits none of the files is wrong with the plan; what does not fit one, with that one."""
    faults: list[PlanError] = []
    subjects = []
    for path in paths:
        try:
            subjects.append(_from_file(path, user_files, outlines))
        except PlanError as fault:
            faults.append(fault)
            subjects.append(unreadable(path))
    if len(faults) == len(paths):
        raise faults[0]
    yield from (replace(subject, one_of_many=len(paths) > 1) for subject in subjects)


def _from_catalogue(name: str, user_files: UserFiles) -> ResolvedModel:
    with plan_faults():
        path = user_path(name)
        is_file = name not in catalogue.names() and path.exists()
        if is_file and (fault := foreign(path)):
            raise fault
        if is_file and path.is_file():
            raise PlanError(
                f"{name} does not end in {' or '.join(FILE_ENDINGS)}", "rename it if it is a graph"
            )
        definition = catalogue.find(name)
    axes = definition.axes
    return ResolvedModel(
        definition.name,
        definition.suite,
        {**axes, **_user_input_sizes(user_files, definition.inputs)},
        "batch" if "batch" in axes else None,
        "sequence" if "sequence" in axes else None,
    )


def _from_torch(text: str) -> ResolvedModel:
    """A user's `file.py:factory` or `hf:PATH`: only when it is built does it tell its axes.

    Its cases have the sizes that are asked for, and its export knows all others.
    """
    if is_factory_file(text):
        with plan_faults():
            locate(text)
    return ResolvedModel(text, "", {}, "batch", "sequence", axes_known=False)


def _from_file(path: str, user_files: UserFiles, outlines: Outlines) -> ResolvedModel:
    try:
        outline = outlines.outline_of(
            OutlineRequest(path, user_files.from_nodes, user_files.to_nodes)
        )
    except ExportError as error:
        if user_files.from_nodes or user_files.to_nodes:
            raise PlanError(error.cause, error.remedy) from None
        return unreadable(path)
    user_sizes = _user_input_sizes(user_files, outline.inputs)
    if not (
        user_files.inputs or user_files.input_range or user_files.from_nodes or user_files.to_nodes
    ):
        with suppress(ExportError):  # which the export says of its rows
            if found := data_beside(user_path(path), outline.inputs):
                user_sizes = axes_of(found[0], outline.inputs)
    sizes = {**dict.fromkeys(outline.axes), **outline.assumed, **user_sizes}
    return ResolvedModel(
        path,
        "",
        sizes,
        outline.batch or None,
        outline.sequence or None,
        assumed=[axis for axis in outline.assumed if axis not in user_sizes],
        sums={axis: addends for axis, addends in outline.sums.items() if axis not in user_sizes},
        past=outline.past,
        prefill={axis: n for axis, n in outline.prefill.items() if axis not in user_sizes},
    )


def unreadable(path: str) -> ResolvedModel:
    """Its export says in its row what is wrong."""
    return ResolvedModel(path, "", {}, None, None, readable=False)


def _user_input_sizes(user_files: UserFiles, specs: Sequence[TensorSpec]) -> dict[str, int]:
    """The sizes of the axes that the user's own inputs have; PlanError if they do not fit, or not
    all sets have them."""
    if not user_files.inputs:
        return {}
    paths = [Path(text) for text in (user_files.inputs, *user_files.more_inputs)]
    with plan_faults():
        first, *others = (axes_of(path, specs) for path in paths)
    for path, sizes in zip(paths[1:], others, strict=True):
        if sizes != first:
            raise PlanError(
                f"--inputs: {path.name} is {axes_key(sizes)} and {paths[0].name} is "
                f"{axes_key(first)}, and a session is fed one size",
                "pad the sets to one size, or measure them in a run each",
            )
    return first


@contextmanager
def plan_faults() -> Iterator[None]:
    """What a runtime or an export would say of a case, said of the plan before it begins."""
    try:
        yield
    except GraphlapError as fault:
        raise PlanError(fault.cause, fault.remedy) from None
