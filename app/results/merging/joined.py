"""Sources -> what the one run folder is to hold: cases, a journal for each writer, files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from app.cases.accuracy import subject_of
from app.cases.case import Case
from app.cases.cold_start import subject_of as cold_subject_of
from app.results.folder import TELEMETRY, samples_name, telemetry_name
from app.results.inputs import INPUTS
from app.results.kept_files import KeptFile
from app.results.lines import Exported, Line, Tried, Writer
from app.results.manifest import MergedRun
from app.results.merging.naming import Names
from app.results.merging.rounds import Moved, Taken, moved_cases, taken_rounds
from app.results.merging.sources import Source
from app.results.operators import FOLDER as OPERATORS
from app.results.regular import lies_within
from app.results.run import SAMPLES
from exporters.types import ExportedModel

_UNSAFE = re.compile(r"[^\w.-]")
_LONGEST = 150


@dataclass(frozen=True, slots=True)
class Joined:
    """`journals` are lines by the name of their file; `files` say by its name in the new folder
    which file of a source each is, and `kept` are the user's own. `twice` counts the rounds that
    several folders have, and `sentences` tell what else there is to know."""

    cases: tuple[Case, ...]
    parts: tuple[MergedRun, ...]
    journals: Mapping[str, Sequence[Line]]
    files: Mapping[str, Path]
    kept: tuple[KeptFile, ...]
    twice: int
    sentences: tuple[str, ...]


@dataclass(slots=True)
class _Journal:
    """The lines of one writer, in the order in which a run writes them."""

    writer: Writer
    models: dict[tuple[str, str], Exported] = field(default_factory=dict)
    tried: dict[str, Tried] = field(default_factory=dict)
    rounds: list[Line] = field(default_factory=list)
    after: dict[tuple[str, str, object], Line] = field(default_factory=dict)

    @property
    def lines(self) -> list[Line]:
        return [
            self.writer, *self.models.values(), *self.tried.values(), *self.rounds,
            *self.after.values(),
        ]  # fmt: skip


def join(sources: Sequence[Source], names: Names) -> Joined:
    """ResultsError where two runs measured the same case on the same host."""
    moved = moved_cases(sources, names)
    taken, twice = taken_rounds(moved)
    planned = list(_planned(moved))
    ids = {case.case_id for case in planned}
    journals: dict[str, _Journal] = {}
    files: dict[str, Path] = {}
    for one in sorted(_all(taken), key=lambda one: one.result.started_at_utc):
        host = names.by_writer[one.writer.writer]
        journal = journals.setdefault(one.writer.writer, _Journal(replace(one.writer, host=host)))
        _add(journal, files, one, tried=one.moved.new.case_id not in ids)
    for case_id, known in taken.items():
        last = known[max(known)]
        journal = journals[last.writer.writer]
        for kind, line, file in _afterwards(last.moved, case_id):
            journal.after.setdefault(kind, line)
            if file is not None:
                files.setdefault(*file)
    for case in moved:
        own = next((name for name in case.source.writers if name in journals), "")
        if own and case.new.case_id not in taken:
            _know_model(journals[own], case)
    for name, path in _inputs(sources):
        files[name] = path
    return Joined(
        tuple(planned),
        _parts(sources, journals),
        {_file_of(name): journal.lines for name, journal in journals.items()},
        files,
        tuple(dict.fromkeys(file for one in sources for file in one.run.manifest.files)),
        twice,
        (*names.sentences, *_other_graphs(moved)),
    )


def _planned(moved: Iterable[Moved]) -> Iterator[Case]:
    """The plans' cases each once, and those that only their host tells apart beside each other."""
    beside: dict[str, dict[str, Case]] = {}
    for one in moved:
        if one.planned:
            anywhere = replace(one.new, host="").case_id
            beside.setdefault(anywhere, {}).setdefault(one.new.case_id, one.new)
    for cases in beside.values():
        yield from cases.values()


def _file_of(writer: str) -> str:
    """The journal's name; of one that no writer of ours has, what is safe of it."""
    safe = _UNSAFE.sub("_", writer)[:_LONGEST].lstrip(".")
    if safe != writer:
        safe += f"-{hashlib.sha256(writer.encode()).hexdigest()[:8]}"
    return f"{safe}.jsonl"


def _all(taken: Mapping[str, Mapping[int, Taken]]) -> Iterator[Taken]:
    for known in taken.values():
        yield from known.values()


def _add(journal: _Journal, files: dict[str, Path], one: Taken, tried: bool) -> None:
    """A round's line, its files, and what has to be known of its case before it."""
    moved, result, run = one.moved, one.result, one.moved.source.run
    new = moved.new
    _know_model(journal, moved)
    if tried:
        journal.tried.setdefault(new.case_id, Tried(new))
    name = samples_name(new.case_id, result.round) if result.samples else ""
    if name:
        files[f"{SAMPLES}/{name}"] = run.path / SAMPLES / result.samples
    told = run.path / TELEMETRY / telemetry_name(moved.old.case_id, result.round)
    if lies_within(run.path, told):
        files[f"{TELEMETRY}/{telemetry_name(new.case_id, result.round)}"] = told
    journal.rounds.append(replace(result, case_id=new.case_id, samples=name))


def _know_model(journal: _Journal, moved: Moved) -> None:
    model, new = moved.source.run.model_of(moved.old), moved.new
    if model is not None:
        journal.models[new.model, new.precision] = Exported(new.model, new.precision, model)


def _afterwards(
    moved: Moved, case_id: str
) -> Iterator[tuple[tuple[str, str, object], Line, tuple[str, Path] | None]]:
    """What came after the rounds of a case, each under a name that it has once."""
    run, old, new = moved.source.run, moved.old, moved.new
    model, accuracy = run.model_of(old), run.accuracy_of(old)
    if model is not None and accuracy is not None:
        subject = subject_of(new, model).case_id
        yield ("accuracy", subject, 0), replace(accuracy, subject=subject), None
    for cold in run.cold_starts_of(old):
        subject = cold_subject_of(new).case_id
        yield ("cold_start", subject, cold.process), replace(cold, subject=subject), None
    operators = run.operators.get(old.case_id)
    if operators is not None:
        path = run.path / operators.file
        there = bool(operators.file) and lies_within(run.path, path)
        name = f"{OPERATORS}/{case_id}.csv" if there else ""
        line = replace(operators, case_id=case_id, file=name)
        if operators.file and not there:
            line = replace(line, reason=f"{path} is not there")
        yield ("operators", case_id, 0), line, (name, path) if there else None


def _inputs(sources: Sequence[Source]) -> Iterator[tuple[str, Path]]:
    """What was fed, with the folder in the name of what has the same name as another's."""
    seen: dict[str, Path] = {}
    for source in sources:
        folder = source.run.path
        for path in sorted(filter(partial(lies_within, folder), (folder / INPUTS).glob("*.npz"))):
            first = seen.setdefault(path.name, path)
            if first is path:
                yield f"{INPUTS}/{path.name}", path
            elif first.read_bytes() != path.read_bytes():
                yield f"{INPUTS}/{path.stem}.{source.folder}.npz", path


def _parts(sources: Sequence[Source], journals: Mapping[str, _Journal]) -> tuple[MergedRun, ...]:
    """Each run once, the first to begin first, with its journals that are in the merged run."""
    found: dict[str, MergedRun] = {}
    for part in (part for source in sources for part in source.parts):
        known = found.get(part.run_id)
        writers = dict.fromkeys((*(known.writers if known else ()), *part.writers))
        own = tuple(name for name in writers if name in journals)
        found[part.run_id] = replace(known or part, writers=own)
    return tuple(sorted(found.values(), key=lambda part: part.created_at_utc))


def _other_graphs(moved: Iterable[Moved]) -> Iterator[str]:
    """Of each model that is not the same graph in all folders, which it is in each."""
    graphs: dict[tuple[str, str], dict[str, dict[str, None]]] = {}
    for one in moved:
        model: ExportedModel | None = one.source.run.model_of(one.old)
        if model is not None:
            known = graphs.setdefault((one.new.model, one.new.precision), {})
            known.setdefault(model.sha256, {})[one.source.folder] = None
    for (name, precision), known in graphs.items():
        if len(known) > 1:
            told = ", ".join(f"{sha[:12]} in {' and '.join(of)}" for sha, of in known.items())
            yield f"differs: the graph of {name} in {precision} is {told}"
