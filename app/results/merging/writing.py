"""What was joined -> a run folder, which appears whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from app.cases.disk import unwritable
from app.cases.errors import ResultsError
from app.cases.status import FAILED
from app.results.atomic import write_atomically
from app.results.folder import (
    LIVE,
    is_being_written,
    lock_folder,
    refuse_occupied,
)
from app.results.journal import FOLDER as JOURNAL
from app.results.journal import flush_folder, journal_text
from app.results.kept_files import FOLDER as FILES
from app.results.kept_files import KeptFile
from app.results.lines import Line, written
from app.results.live import Live
from app.results.manifest import MANIFEST, Manifest, manifest_text
from app.results.merging.joined import Joined
from app.results.merging.sources import Source
from app.results.reader import read_run
from app.results.regular import lies_within
from app.results.rows import Rows
from app.results.run import SAMPLES, Run
from app.results.tables import tables
from exporters.digest import file_sha256
from exporters.private import private_folder


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
