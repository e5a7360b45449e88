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
from app.formatting.text import counted
from app.plan.plan import Plan
from app.run_folder.files import lies_within, write_atomically
from app.run_folder.folder import (
    INPUTS,
    LIVE,
    TELEMETRY,
    is_being_written,
    lock_folder,
    reject_occupied,
    samples_name,
    telemetry_name,
)
from app.run_folder.hosts import merged_plan, plan_differences, reject_mixed
from app.run_folder.journal import FOLDER as JOURNAL
from app.run_folder.journal import (
    Line,
    ModelExported,
    SearchCase,
    Writer,
    flush_folder,
    journal_text,
    line_values,
)
from app.run_folder.live_status import Live
from app.run_folder.manifest import FOLDER as FILES
from app.run_folder.manifest import (
    MANIFEST,
    ArchivedFile,
    Manifest,
    MergedRun,
    manifest_text,
    new_manifest,
)
from app.run_folder.operators import FOLDER as OPERATORS
from app.run_folder.run import SAMPLES, Run
from app.run_folder.table import tables
from app.runs.merging.sources import (
    CaseMove,
    Names,
    Source,
    SourceRound,
    case_moves,
    names_of,
    select_rounds,
)
from app.runs.reader import read_run
from exporters.file_access import file_sha256, private_folder
from exporters.types import ExportedModel

_UNSAFE = re.compile(r"[^\w.-]")
_LONGEST = 150


@dataclass(frozen=True, slots=True)
class MergeContent:
    """`journals` are lines by the name of their file; `files` say by its name in the new folder
    which file of a source each is, and `kept` are the user's own. `twice` counts the rounds that
    several folders have, and `sentences` tell what else there is to know."""

    cases: tuple[Case, ...]
    parts: tuple[MergedRun, ...]
    journals: Mapping[str, Sequence[Line]]
    files: Mapping[str, Path]
    archives: tuple[ArchivedFile, ...]
    duplicates: int
    sentences: tuple[str, ...]


@dataclass(slots=True)
class _Journal:
    """The lines of one writer, in the order in which a run writes them."""

    writer: Writer
    models: dict[tuple[str, str], ModelExported] = field(default_factory=dict)
    tried: dict[str, SearchCase] = field(default_factory=dict)
    rounds: list[Line] = field(default_factory=list)
    followups: dict[tuple[str, str, object], Line] = field(default_factory=dict)

    @property
    def lines(self) -> list[Line]:
        return [
            self.writer, *self.models.values(), *self.tried.values(), *self.rounds,
            *self.followups.values(),
        ]  # fmt: skip


def join(sources: Sequence[Source], names: Names) -> MergeContent:
    """ResultsError where two runs measured the same case on the same host."""
    moves = case_moves(sources, names)
    rounds_by_case, duplicates = select_rounds(moves)
    planned_cases = list(_planned_cases(moves))
    ids = {case.case_id for case in planned_cases}
    journals: dict[str, _Journal] = {}
    files: dict[str, Path] = {}
    for item in sorted(_all_rounds(rounds_by_case), key=lambda item: item.result.started_at_utc):
        host = names.by_writer[item.writer.writer]
        journal = journals.setdefault(item.writer.writer, _Journal(replace(item.writer, host=host)))
        _add(journal, files, item, tried=item.move.new.case_id not in ids)
    for case_id, rounds in rounds_by_case.items():
        last = rounds[max(rounds)]
        journal = journals[last.writer.writer]
        for kind, line, file in _followup_lines(last.move, case_id):
            journal.followups.setdefault(kind, line)
            if file is not None:
                files.setdefault(*file)
    for case in moves:
        writer_name = next((name for name in case.source.writers if name in journals), "")
        if writer_name and case.new.case_id not in rounds_by_case:
            _add_model(journals[writer_name], case)
    for name, path in _inputs(sources):
        files[name] = path
    return MergeContent(
        tuple(planned_cases),
        _parts(sources, journals),
        {_file_of(name): journal.lines for name, journal in journals.items()},
        files,
        tuple(dict.fromkeys(file for item in sources for file in item.run.manifest.files)),
        duplicates,
        (*names.sentences, *_other_graphs(moves)),
    )


def _planned_cases(moves: Iterable[CaseMove]) -> Iterator[Case]:
    """The plans' cases each once, and those that only their host tells apart beside each other."""
    groups: dict[str, dict[str, Case]] = {}
    for move in moves:
        if move.planned:
            hostless_id = replace(move.new, host="").case_id
            groups.setdefault(hostless_id, {}).setdefault(move.new.case_id, move.new)
    for cases in groups.values():
        yield from cases.values()


def _file_of(writer: str) -> str:
    """The journal's name; of one that no writer of ours has, what is safe of it."""
    safe = _UNSAFE.sub("_", writer)[:_LONGEST].lstrip(".")
    if safe != writer:
        safe += f"-{hashlib.sha256(writer.encode()).hexdigest()[:8]}"
    return f"{safe}.jsonl"


def _all_rounds(rounds_by_case: Mapping[str, Mapping[int, SourceRound]]) -> Iterator[SourceRound]:
    for rounds in rounds_by_case.values():
        yield from rounds.values()


def _add(journal: _Journal, files: dict[str, Path], source_round: SourceRound, tried: bool) -> None:
    """A round's line, its files, and what has to be known of its case before it."""
    move, result, run = source_round.move, source_round.result, source_round.move.source.run
    new = move.new
    _add_model(journal, move)
    if tried:
        journal.tried.setdefault(new.case_id, SearchCase(new))
    name = samples_name(new.case_id, result.round) if result.samples else ""
    if name:
        files[f"{SAMPLES}/{name}"] = run.path / SAMPLES / result.samples
    telemetry_path = run.path / TELEMETRY / telemetry_name(move.old.case_id, result.round)
    if lies_within(run.path, telemetry_path):
        files[f"{TELEMETRY}/{telemetry_name(new.case_id, result.round)}"] = telemetry_path
    journal.rounds.append(replace(result, case_id=new.case_id, samples=name))


def _add_model(journal: _Journal, move: CaseMove) -> None:
    model, new = move.source.run.model_of(move.old), move.new
    if model is not None:
        journal.models[new.model, new.precision] = ModelExported(new.model, new.precision, model)


def _followup_lines(
    move: CaseMove, case_id: str
) -> Iterator[tuple[tuple[str, str, object], Line, tuple[str, Path] | None]]:
    """What came after the rounds of a case, each under a name that it has once."""
    run, old, new = move.source.run, move.old, move.new
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
        has_file = bool(operators.file) and lies_within(run.path, path)
        name = f"{OPERATORS}/{case_id}.csv" if has_file else ""
        line = replace(operators, case_id=case_id, file=name)
        if operators.file and not has_file:
            line = replace(line, reason=f"{path} is not there")
        yield ("operators", case_id, 0), line, (name, path) if has_file else None


def _inputs(sources: Sequence[Source]) -> Iterator[tuple[str, Path]]:
    """What was fed, with the folder in the name of what has the same name as another's."""
    paths: dict[str, Path] = {}
    for source in sources:
        folder = source.run.path
        for path in sorted(filter(partial(lies_within, folder), (folder / INPUTS).glob("*.npz"))):
            first = paths.setdefault(path.name, path)
            if first is path:
                yield f"{INPUTS}/{path.name}", path
            elif first.read_bytes() != path.read_bytes():
                yield f"{INPUTS}/{path.stem}.{source.folder}.npz", path


def _parts(sources: Sequence[Source], journals: Mapping[str, _Journal]) -> tuple[MergedRun, ...]:
    """Each run once, the first to begin first, with its journals that are in the merged run."""
    parts_by_id: dict[str, MergedRun] = {}
    for part in (part for source in sources for part in source.parts):
        previous = parts_by_id.get(part.run_id)
        writers = dict.fromkeys((*(previous.writers if previous else ()), *part.writers))
        names = tuple(name for name in writers if name in journals)
        parts_by_id[part.run_id] = replace(previous or part, writers=names)
    return tuple(sorted(parts_by_id.values(), key=lambda part: part.created_at_utc))


def _other_graphs(moves: Iterable[CaseMove]) -> Iterator[str]:
    """Of each model that is not the same graph in all folders, which it is in each."""
    graphs: dict[tuple[str, str], dict[str, dict[str, None]]] = {}
    for move in moves:
        model: ExportedModel | None = move.source.run.model_of(move.old)
        if model is not None:
            folders_by_hash = graphs.setdefault((move.new.model, move.new.precision), {})
            folders_by_hash.setdefault(model.sha256, {})[move.source.folder] = None
    for (name, precision), folders_by_hash in graphs.items():
        if len(folders_by_hash) > 1:
            description = ", ".join(
                f"{sha[:12]} in {' and '.join(folders)}" for sha, folders in folders_by_hash.items()
            )
            yield f"differs: the graph of {name} in {precision} is {description}"


def reject_place(path: Path, sources: Sequence[Source]) -> None:
    """ResultsError unless the merged run can be made at `path`; writes nothing."""
    reject_occupied(path)
    for source in sources:
        if source.path.resolve() in path.resolve().parents:
            raise ResultsError(f"{path} lies inside {source.path}", "give a folder next to it")
    if is_being_written(_temporary_path(path)):
        raise ResultsError(f"{path} is being merged by another process", "wait for it")


def write(path: Path, manifest: Manifest, content: MergeContent, sources: Sequence[Source]) -> Run:
    """Made beside `path` under another name, which it loses when all is on disk.

    Files of the sources are linked where the disk allows it, so that they take no room; DiskError
    if something can't be written.
    """
    making = _temporary_path(path)
    try:
        shutil.rmtree(making, ignore_errors=True)  # of a merge that was killed
        private_folder(making)
        with _lock(making):
            run = _fill(making, manifest, content, sources)
            making.rename(path)
            flush_folder(path.parent)
    except OSError as error:
        raise unwritable(path, error, ", or give another --out") from error
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return replace(run, path=path)


def _temporary_path(path: Path) -> Path:
    return path.absolute().parent / f".{path.name}.merging"


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    lock = lock_folder(folder)
    try:
        yield
    finally:
        os.close(lock)


def _fill(
    making: Path, manifest: Manifest, merge_content: MergeContent, sources: Sequence[Source]
) -> Run:
    for name in (JOURNAL, SAMPLES):
        (making / name).mkdir()
    for name, path in merge_content.files.items():
        _link(path, making / name)
    for file in manifest.files:
        if file.kept:
            _link(_kept_in(file, sources), making / file.kept)
    for name, lines in merge_content.journals.items():
        _write_lines(making / JOURNAL / name, lines)
    write_atomically(making / MANIFEST, manifest_text(manifest).encode())
    run = read_run(making)
    for name, content in tables(Rows().of(run)):
        write_atomically(making / name, content)
    counts = {name: len(lines) for name, lines in merge_content.journals.items()}
    write_atomically(making / LIVE, json.dumps(_live(run, counts)).encode())
    for folder in {making, *(path.parent for path in making.glob("*/*"))}:
        flush_folder(folder)
    return run


def _link(path: Path, target: Path) -> None:
    """A second name of the file, or a copy of it where that can't be."""
    target.parent.mkdir(exist_ok=True)
    if target.exists():
        return
    try:
        os.link(path.resolve(), target)
    except OSError:
        shutil.copyfile(path, target)
        with target.open("rb") as file:
            os.fsync(file.fileno())


def archived_files(
    files: Iterable[ArchivedFile], sources: Sequence[Source]
) -> Iterator[ArchivedFile]:
    """The user's files, without a copy where no source has it as it was, or in its place: a folder
    may come from a stranger, and nothing is written beside the new one."""
    for file in files:
        folder, _, name = file.kept.partition("/")
        is_archive = folder == FILES and "/" not in name and name not in ("", ".", "..")
        has_copy = is_archive and _kept_in(file, sources).is_file()
        yield file if has_copy else ArchivedFile(file.path, file.sha256)


def _kept_in(file: ArchivedFile, sources: Sequence[Source]) -> Path:
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
            file.write(journal_text([line_values(line)]))
        file.flush()
        os.fsync(file.fileno())


def _live(run: Run, journal_lines: Mapping[str, int]) -> dict[str, object]:
    """Of a run that is over."""
    rounds = [result for results in run.rounds.values() for result in results.values()]
    failed_ids = {result.case_id for result in rounds if result.status in FAILED}
    live = Live(
        state="finished",
        cases_total=len(run.cases),
        cases_failed=len(failed_ids),
        rounds_total=len(rounds),
        rounds_done=len(rounds),
        exit_code=0,
        journal_lines=journal_lines,
    )
    stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {"updated_at_utc": stamp, **asdict(live)}


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The run, sentences about how it came about, and what was damaged and is not in it."""

    run: Run
    sentences: tuple[str, ...]
    damage: tuple[str, ...]


def merge(sources: Sequence[Source], place: Callable[[Plan], Path]) -> MergeResult:
    """Make the run folder at `place`, which is asked once all else is in order.

    Raises PlanError or ResultsError before anything is written, DiskError if it can't be.
    """
    names = names_of(sources)
    content = join(sources, names)
    reject_mixed(content.parts)
    plan = merged_plan(content.parts)
    path = place(plan)
    reject_place(path, sources)
    run = write(path, _manifest(plan, content, names, sources), content, sources)
    duplicates = f"{counted(content.duplicates, 'round')} that several folders have are there once"
    sentences = (
        *([duplicates] if content.duplicates else []),
        *content.sentences,
        *plan_differences(content.parts),
    )
    return MergeResult(
        run, sentences, tuple(sentence for source in sources for sentence in source.damage)
    )


def _manifest(
    plan: Plan, content: MergeContent, names: Names, sources: Sequence[Source]
) -> Manifest:
    """That of a run which began with the first of these; its environment is that of their host,
    where there is one."""
    first = content.parts[0]
    host_writers = [
        writer for source in sources for writer in source.writers.values() if writer.host
    ]
    is_single_host = len(names.hosts) == 1 and host_writers
    manifest = new_manifest(
        name=plan.name,
        seed=plan.seed or 0,
        rounds=max(part.rounds for part in content.parts),
        time_limit_s=first.time_limit_s,
        limits=first.limits,
        plan=plan,
        cases=content.cases,
        environment=host_writers[0].environment if is_single_host else {},
        files=tuple(archived_files(content.archives, sources)),
    )
    return replace(manifest, created_at_utc=first.created_at_utc, merged=content.parts)
