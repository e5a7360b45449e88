"""A run folder as its writer sees it: created or reopened, locked, one round at a time.

Only one process on a machine writes a folder at a time; the lock goes with the process, however
it ends. `README.md` beside this file has the format.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Self
from zipfile import ZipFile
from zlib import crc32

from app.cases.errors import DiskError, ResultsError, unwritable
from app.cases.round import RECORD, RoundResult
from app.cases.telemetry import Reading
from app.machine.environment import graphlap_version
from app.run_folder.files import LOCK, remove_drafts, replacing, text_digest, write_atomically
from app.run_folder.journal import FOLDER as JOURNAL
from app.run_folder.journal import Journal, Line, Writer, flush_folder, line_values
from app.run_folder.manifest import FOLDER as FILES
from app.run_folder.manifest import MANIFEST, ArchivedFile, Manifest, manifest_text, read_manifest
from app.run_folder.run import SAMPLES
from exporters.codec import to_json
from exporters.file_access import private_folder, read_file, try_lock
from exporters.types import INPUT, ExportedModel

INPUTS = "inputs"
_UNSAFE = re.compile(r"[^\w.,=-]")


def inputs_to_keep(model: ExportedModel) -> Iterator[tuple[str, Path]]:
    """A file of the run folder for each point of a model, and for each set that is fed in turn,
    with the reference that holds these inputs.

    Its name has the model's, the beginning of its sha256, the precision and the sizes; further
    sets are numbered from 2.
    """
    for key, reference in model.references.items():
        sets = (reference, *model.rotation.get(key, ()))
        for number, file in enumerate(sets, 1):
            file_stem = f"{model.name}-{model.sha256[:8]}-{model.precision}-{key}"
            place = f".{number}" if number > 1 else ""
            yield f"{INPUTS}/{_UNSAFE.sub('_', file_stem)}{place}.npz", Path(file)


def write_inputs(reference: Path, target: BinaryIO) -> None:
    """Copy the inputs of a stored reference, a part at a time: they may be larger than memory."""
    with ZipFile(reference) as source_archive, ZipFile(target, "w") as archive:
        for name in source_archive.namelist():
            if name.startswith(INPUT):
                with (
                    source_archive.open(name) as source,
                    archive.open(name.removeprefix(INPUT), "w", force_zip64=True) as member,
                ):
                    shutil.copyfileobj(source, member)


TELEMETRY = "telemetry"
RESULTS = "results.csv"
LIVE = "live.json"
LOCK_WAIT_S = 1.0
LOCK_RETRY_S = 0.002


class RunFolder:
    """The writer of one run; a context manager that holds the folder's lock."""

    def __init__(self, path: Path, manifest: Manifest, lock: int) -> None:
        self.path = path
        self.manifest = manifest
        self._lock = lock
        self._journal = Journal(path)

    @classmethod
    def create(cls, path: Path, manifest: Manifest) -> Self:
        """Make a new run folder; ResultsError if `path` can't be one."""
        reject_occupied(path)
        try:
            private_folder(path)
            for folder in (path / JOURNAL, path / SAMPLES):
                folder.mkdir(exist_ok=True)
            lock = lock_folder(path)
            if (path / MANIFEST).exists():
                os.close(lock)
                reject_occupied(path)
            for file in manifest.files:
                _keep(path, file)
            write_atomically(path / MANIFEST, manifest_text(manifest).encode())
            flush_folder(path)
        except OSError as error:
            raise unwritable(path, error, ", or give another folder with --out") from None
        return cls(path, manifest, lock)

    @classmethod
    def reopen(cls, path: Path, manifest: Manifest | None = None) -> Self:
        """Take up a run where it stopped; ResultsError if it is no run, has links in the place of
        its own folders, or is being written. Nothing is written before `begin`.

        `manifest` is the folder's where it has been read: that of a large sweep takes a second.
        """
        manifest = manifest or read_manifest(path)
        reject_links(path)
        try:
            return cls(path, manifest, lock_folder(path))
        except OSError as error:
            raise ResultsError(
                f"{path} can't be written ({error.strerror})", "make it writable, then resume"
            ) from None

    @property
    def samples(self) -> Path:
        return self.path / SAMPLES

    @property
    def writer(self) -> str:
        """The name of the journal."""
        return self._journal.writer

    @property
    def journal_lines(self) -> dict[str, int]:
        """How many lines this writer has written, by the name of the journal file."""
        return {self._journal.name: self._journal.lines} if self._journal.lines else {}

    def begin(self, environment: Mapping[str, Any]) -> Writer:
        """The line that says who writes, once, before the first round."""
        with _disk(self.path):
            for folder in (self.path / JOURNAL, self.path / SAMPLES):
                folder.mkdir(exist_ok=True)
            remove_drafts(self.path)
        line = Writer(
            self.writer,
            os.getpid(),
            str(environment.get("host", "")),
            graphlap_version(),
            dict(environment),
            self.manifest.run_id,
            text_digest(read_file(self.path / MANIFEST)),
        )
        self.record(line)
        return line

    def record(self, *lines: Line) -> None:
        """Keep lines of the journal: once this returns, they are safe.

        A round's samples are flushed before its line, and what a round without samples of
        its own has left behind is removed. Raises DiskError if something can't be written,
        or if the samples are not all there.
        """
        with _disk(self.path):
            for line in lines:
                if isinstance(line, RoundResult):
                    if line.samples:
                        _flush_samples(self.samples / line.samples, line)
                    else:
                        self.drop_samples(line.case_id, line.round)
            self._journal.append(*map(line_values, lines))

    def record_readings(self, case_id: str, number: int, readings: Sequence[Reading]) -> None:
        """Append what the devices told during a round that is in flight."""
        lines = "".join(json.dumps(to_json(reading)) + "\n" for reading in readings)
        path = self.path / TELEMETRY / telemetry_name(case_id, number)
        with _disk(self.path):
            path.parent.mkdir(exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(lines)

    def drop_samples(self, case_id: str, number: int) -> None:
        """Remove what a round that does not count has written."""
        with contextlib.suppress(OSError):
            (self.samples / samples_name(case_id, number)).unlink()

    def readings_crc32(self, case_id: str, number: int) -> int | None:
        """The checksum of the readings of devices during a round; None where no device has any."""
        try:
            return crc32(read_file(self.path / TELEMETRY / telemetry_name(case_id, number)))
        except OSError:
            return None

    def drop_readings(self, case_id: str, number: int) -> None:
        """Remove what the devices told during a round that does not count."""
        with contextlib.suppress(OSError):
            (self.path / TELEMETRY / telemetry_name(case_id, number)).unlink()

    def write(self, name: str, data: bytes, durable: bool = True) -> None:
        """Replace one file of the folder whole; DiskError if it can't be written."""
        with self.replacing(name, durable) as file:
            file.write(data)

    @contextlib.contextmanager
    def replacing(self, name: str, durable: bool = True) -> Iterator[BinaryIO]:
        """The same of a file that is written part by part."""
        path = self.path / name
        with _disk(self.path):
            if path.parent != self.path:  # the run's own, if it is gone, is not to come back empty
                path.parent.mkdir(exist_ok=True)
            with replacing(path, durable) as file:
                yield file

    def close(self) -> None:
        self._journal.close()
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def samples_name(case_id: str, number: int) -> str:
    """The file of one round's samples, in the run's samples folder."""
    return f"{case_id}.{number}.bin"


def telemetry_name(case_id: str, number: int) -> str:
    """The file of what the devices told during one round, in the run's telemetry folder."""
    return f"{case_id}.{number}.jsonl"


def reject_occupied(path: Path) -> None:
    """ResultsError unless `path` is free or empty, and could be written; writes nothing."""
    if (path / MANIFEST).exists():
        raise ResultsError(f"{path} belongs to another run", "give another folder, or resume it")
    if path.exists() and not path.is_dir():
        raise ResultsError(f"{path} is a file", "give a folder with --out")
    if path.is_dir() and any(path.iterdir()):
        raise ResultsError(f"{path} is not empty", "give another folder with --out")
    parent = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not parent.is_dir() or not _can_write(parent):
        raise ResultsError(f"{parent} is not writable", "give another folder with --out")


def reject_links(path: Path) -> None:
    """ResultsError for a link in a run folder where a writer would follow it out of the folder."""
    entries = [path / JOURNAL, path / SAMPLES, path / TELEMETRY, path / LOCK]
    with contextlib.suppress(OSError):
        entries += [entry for entry in path.iterdir() if entry.is_dir()]
    for entry in entries:
        if entry.is_symlink():
            raise ResultsError(
                f"{entry} is a link, which a run's own writer never makes",
                "put what it names in its place",
            )


def is_being_written(path: Path) -> bool:
    """Whether some process holds the lock of this run folder now."""
    try:
        descriptor = os.open(path / LOCK, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return not try_lock(descriptor, shared=True)
    except OSError:  # a file system without locks, where no run can be begun
        return False
    finally:
        os.close(descriptor)


def _keep(path: Path, file: ArchivedFile) -> None:
    """Copy one of the user's files; what has just changed is no longer what was planned."""
    if not file.kept:
        return
    content = Path(file.path).read_bytes()
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise ResultsError(f"{file.path} has changed while the run began", "start it again")
    (path / FILES).mkdir(exist_ok=True)
    write_atomically(path / file.kept, content)


def lock_folder(path: Path) -> int:
    """Hold a folder's lock; the descriptor to close. ResultsError if another process holds it.

    A reader that asks `is_being_written` has the lock for a moment, so one refusal means nothing.
    """
    descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    deadline = time.monotonic() + LOCK_WAIT_S
    while not try_lock(descriptor):
        if time.monotonic() >= deadline:
            os.close(descriptor)
            raise ResultsError(
                f"{path} is being written by another process", "wait for it, or stop it first"
            )
        time.sleep(LOCK_RETRY_S)
    return descriptor


def _flush_samples(path: Path, result: RoundResult) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        size = os.fstat(file.fileno()).st_size
    expected = (result.warmup_iterations + result.iterations) * RECORD.itemsize
    if size % RECORD.itemsize or size < expected:
        raise DiskError(
            f"{path} does not hold all of its samples", "free space, then resume the run"
        )


def _can_write(folder: Path) -> bool:
    """By trying: a read-only file system lets `os.access` say yes to root."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def _disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(path, error, ", then resume it", " any more") from error
