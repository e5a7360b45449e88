"""The merge of run folders: joined parts, written as one folder that appears whole or not."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from app.cases.case import Case
from app.cases.errors import ResultsError, unwritable
from app.cases.jobs import cold_start_subject_of as cold_subject_of
from app.cases.jobs import subject_of
from app.cases.status import FAILED
from app.columns.rows import Rows
from app.plan.plan import Plan
from app.run_folder.files import lies_within, write_atomically
from app.run_folder.folder import (
    INPUTS,
    LIVE,
    TELEMETRY,
    is_being_written,
    lock_folder,
    refuse_occupied,
    samples_name,
    telemetry_name,
)
from app.run_folder.hosts import differing, refuse_mixed, together
from app.run_folder.journal import FOLDER as JOURNAL
from app.run_folder.journal import (
    Exported,
    Line,
    Tried,
    Writer,
    flush_folder,
    journal_text,
    written,
)
from app.run_folder.live_status import Live
from app.run_folder.manifest import FOLDER as FILES
from app.run_folder.manifest import (
    MANIFEST,
    KeptFile,
    Manifest,
    MergedRun,
    manifest_text,
    new_manifest,
)
from app.run_folder.operators import FOLDER as OPERATORS
from app.run_folder.run import SAMPLES, Run
from app.run_folder.table import tables
from app.runs.merging.sources import (
    Moved,
    Names,
    Source,
    Taken,
    moved_cases,
    names_of,
    taken_rounds,
)
from app.runs.reader import read_run
from exporters.file_access import file_sha256, private_folder
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


def refuse_place(path: Path, sources: Sequence[Source]) -> None:
    """ResultsError unless the merged run can be made at `path`; writes nothing."""
    refuse_occupied(path)
    for source in sources:
        if source.path.resolve() in path.resolve().parents:
            raise ResultsError(f"{path} lies inside {source.path}", "give a folder next to it")
    if is_being_written(_under_way(path)):
        raise ResultsError(f"{path} is being merged by another process", "wait for it")


def write(path: Path, manifest: Manifest, joined: Joined, sources: Sequence[Source]) -> Run:
    """Made beside `path` under another name, which it loses when all is on disk.

    Files of the sources are linked where the disk allows it, so that they take no room; DiskError
    if something can't be written.
    """
    making = _under_way(path)
    try:
        shutil.rmtree(making, ignore_errors=True)  # of a merge that was killed
        private_folder(making)
        with _locked(making):
            run = _fill(making, manifest, joined, sources)
            making.rename(path)
            flush_folder(path.parent)
    except OSError as error:
        raise unwritable(path, error, ", or give another --out") from error
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return replace(run, path=path)


def _under_way(path: Path) -> Path:
    return path.absolute().parent / f".{path.name}.merging"


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    lock = lock_folder(folder)
    try:
        yield
    finally:
        os.close(lock)


def _fill(making: Path, manifest: Manifest, joined: Joined, sources: Sequence[Source]) -> Run:
    for name in (JOURNAL, SAMPLES):
        (making / name).mkdir()
    for name, path in joined.files.items():
        _link(path, making / name)
    for file in manifest.files:
        if file.kept:
            _link(_kept_in(file, sources), making / file.kept)
    for name, lines in joined.journals.items():
        _write_lines(making / JOURNAL / name, lines)
    write_atomically(making / MANIFEST, manifest_text(manifest).encode())
    run = read_run(making)
    for name, content in tables(manifest, Rows().of(run)):
        write_atomically(making / name, content)
    counts = {name: len(lines) for name, lines in joined.journals.items()}
    write_atomically(making / LIVE, json.dumps(_live(run, counts)).encode())
    for folder in {making, *(path.parent for path in making.glob("*/*"))}:
        flush_folder(folder)
    return run


def _link(path: Path, to: Path) -> None:
    """A second name of the file, or a copy of it where that can't be."""
    to.parent.mkdir(exist_ok=True)
    if to.exists():
        return
    try:
        os.link(path.resolve(), to)
    except OSError:
        shutil.copyfile(path, to)
        with to.open("rb") as file:
            os.fsync(file.fileno())


def kept_files(files: Iterable[KeptFile], sources: Sequence[Source]) -> Iterator[KeptFile]:
    """The user's files, without a copy where no source has it as it was, or in its place: a folder
    may come from a stranger, and nothing is written beside the new one."""
    for file in files:
        folder, _, name = file.kept.partition("/")
        own = folder == FILES and "/" not in name and name not in ("", ".", "..")
        whole = own and _kept_in(file, sources).is_file()
        yield file if whole else KeptFile(file.path, file.sha256)


def _kept_in(file: KeptFile, sources: Sequence[Source]) -> Path:
    """The first copy that is what its name says; Path() where there is none."""
    for source in sources:
        path = source.run.path / file.kept
        with contextlib.suppress(OSError):
            if lies_within(source.run.path, path) and file_sha256(path) == file.sha256:
                return path
    return Path()


def _write_lines(path: Path, lines: Iterable[Line]) -> None:
    with path.open("wb") as file:
        for line in lines:
            file.write(journal_text([written(line)]))
        file.flush()
        os.fsync(file.fileno())


def _live(run: Run, journal_lines: Mapping[str, int]) -> dict[str, object]:
    """Of a run that is over."""
    rounds = [result for known in run.rounds.values() for result in known.values()]
    failed = {result.case_id for result in rounds if result.status in FAILED}
    told = Live(
        state="finished",
        cases_total=len(run.cases),
        cases_failed=len(failed),
        rounds_total=len(rounds),
        rounds_done=len(rounds),
        exit_code=0,
        journal_lines=journal_lines,
    )
    stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {"updated_at_utc": stamp, **asdict(told)}


@dataclass(frozen=True, slots=True)
class Merged:
    """The run, sentences about how it came about, and what was damaged and is not in it."""

    run: Run
    sentences: tuple[str, ...]
    lost: tuple[str, ...]


def merge(sources: Sequence[Source], place: Callable[[Plan], Path]) -> Merged:
    """Make the run folder at `place`, which is asked once all else is in order.

    Raises PlanError or ResultsError before anything is written, DiskError if it can't be.
    """
    names = names_of(sources)
    joined = join(sources, names)
    refuse_mixed(joined.parts)
    plan = together(joined.parts)
    path = place(plan)
    refuse_place(path, sources)
    run = write(path, _manifest(plan, joined, names, sources), joined, sources)
    copies = "" if joined.twice == 1 else "s"
    twice = f"{joined.twice:,} round{copies} that several folders have are there once"
    sentences = (*([twice] if joined.twice else []), *joined.sentences, *differing(joined.parts))
    return Merged(run, sentences, tuple(one for source in sources for one in source.lost))


def _manifest(plan: Plan, joined: Joined, names: Names, sources: Sequence[Source]) -> Manifest:
    """That of a run which began with the first of these; its environment is that of their host,
    where there is one."""
    first = joined.parts[0]
    known = [writer for one in sources for writer in one.writers.values() if writer.host]
    alone = len(names.hosts) == 1 and known
    made = new_manifest(
        name=plan.name,
        seed=plan.seed or 0,
        rounds=max(part.rounds for part in joined.parts),
        time_limit_s=first.time_limit_s,
        limits=first.limits,
        plan=plan,
        cases=joined.cases,
        environment=known[0].environment if alone else {},
        files=tuple(kept_files(joined.kept, sources)),
    )
    return replace(made, created_at_utc=first.created_at_utc, merged=joined.parts)
