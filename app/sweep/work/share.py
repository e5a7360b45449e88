"""A share of a run on one host: its cases go there, what it measures comes back and is examined.

Its bundle goes with it: what its models became, and their files, so that every host runs these.
`bundle.json` lies beside the manifest of the share and names files below `bundle/`, by their places
here, so that a graph finds its weights. The host has these files by their content.

What arrives is read like a stranger's: files that a share may have, of sizes that they may have,
and journal lines that its samples bear out. A host that sends anything else is let go.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

from app.cases.errors import unwritable
from app.cases.round import RoundResult
from app.cases.status import FITS, Status
from app.formatting.case_labels import FILE_NAMES, ModelNames
from app.formatting.text import counted
from app.machine.environment import graphlap_version, this_machine
from app.machine.installed_runtimes import clock_of
from app.run_folder.files import read_json, text_digest, write_atomically
from app.run_folder.folder import RunFolder, samples_name
from app.run_folder.journal import FOLDER as JOURNAL
from app.run_folder.journal import (
    SHARES,
    DiscardedRound,
    Line,
    ModelExported,
    Operators,
    TimeSpent,
    Writer,
    parse_line,
    source_of,
)
from app.run_folder.live_status import Live
from app.run_folder.manifest import MANIFEST, Manifest
from app.run_folder.run import SAMPLES
from app.runs.reader import damage
from app.sweep.remote.carriers import Carrier
from app.sweep.remote.host import Host
from app.sweep.remote.link import HostError, Link, data_of
from app.sweep.work.base import CPU, Needs, News, SettledWork, Work
from app.sweep.work.local_executor import ThisMachine
from exporters import diagnostics as catalogue
from exporters.codec import from_json, to_json
from exporters.diagnostics import Diagnostic
from exporters.file_access import file_sha256, private_folder, read_file
from exporters.install_layout import belong_to_parent
from exporters.messages import ExportReply
from exporters.model_names import is_factory_file, is_hugging_face
from exporters.types import ExportedModel, Factory, GraphlapError, Precision

BUNDLE = "bundle.json"
BUNDLE_FILES = "bundle"

Exports = Mapping[tuple[str, Precision], ExportReply]

MOST_BYTES = 4 << 30
"""Of all files of a share."""
EARLIER = f"{JOURNAL}/earlier.jsonl"
"""The journal, on the host alone, of rounds that it has measured before."""
_FILE = re.compile(r"(?:samples|telemetry|operators)/(.+?)(?:\.[0-9]{1,6})?\.(?:bin|jsonl|csv)")
"""What a share's files are called, after the ids of their cases."""
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NOT_MEASURED: frozenset[Status] = frozenset({"imported", "compiles", "cancelled"})


@dataclass(frozen=True, slots=True)
class Bundle:
    """`host` is what rows call a host of the machine `machine`, `attempt` the number of the share,
    `exported` the items of `Exports`, `warnings` what each of its rounds is to tell of the host or
    of earlier shares."""

    host: str
    machine: str
    attempt: int
    exported: tuple[tuple[tuple[str, Precision], ExportReply], ...]
    warnings: tuple[Diagnostic, ...] = ()


def end_with_link(folder: Path) -> None:
    """If the folder is a share, this process ends with the one that has the link to its run."""
    if (folder / BUNDLE).is_file():
        belong_to_parent()


def read_bundle(folder: Path) -> Bundle | None:
    """That of a share, with its files where they lie in the folder; None for any other run.

    GraphlapError for one that can't be understood.
    """
    path = folder / BUNDLE
    if not path.is_file():
        return None
    try:
        bundle = from_json(Bundle, read_json(path))
    except (OSError, ValueError) as error:
        raise GraphlapError(f"{path} can't be read ({error})", "start the run again") from None
    return _moved(bundle, lambda text: str(folder / text))


def packed(bundle: Bundle, send_code: bool) -> tuple[bytes, dict[str, Path]]:
    """The text of `bundle.json`, and where the files lie here that it names, by their place in the
    share; a module of the user's own files stays here unless `send_code`."""
    files: dict[str, Path] = {}

    def place(text: str) -> str:
        path = Path(text).absolute()
        name = f"{BUNDLE_FILES}{path.as_posix()}"
        files[name] = path
        return name

    return json.dumps(to_json(_moved(bundle, place, send_code))).encode(), files


def _moved(bundle: Bundle, place: Callable[[str], str], send_code: bool = True) -> Bundle:
    """With each file where `place` says, without modules of which only graphs go to others."""

    def moved_factory(factory: Factory) -> Factory | None:
        target, weights = factory.target, factory.weights
        if is_hugging_face(target) or (is_factory_file(target) and not send_code):
            return None
        if is_factory_file(target):
            path, colon, function = target.rpartition(":")
            target = f"{place(path)}{colon}{function}"
        return replace(factory, target=target, weights=place(weights) if weights else weights)

    def moved_model(model: ExportedModel) -> ExportedModel:
        fixed = model.fixed.items()
        return replace(
            model,
            path=place(model.path),
            beside=tuple(map(place, model.beside)),
            references={key: place(path) for key, path in model.references.items()},
            rotation={key: tuple(map(place, paths)) for key, paths in model.rotation.items()},
            custom_ops=tuple(map(place, model.custom_ops)),
            fixed={key: replace(graph, path=place(graph.path)) for key, graph in fixed},
            factory=model.factory and moved_factory(model.factory),
        )

    exported = tuple(
        (key, replace(reply, model=reply.model and moved_model(reply.model)))
        for key, reply in bundle.exported
    )
    return replace(bundle, exported=exported)


class HostNews(SettledWork):
    """A sentence about a host, and the rounds that are done again."""

    kind = "host"

    def __init__(self, sentence: str, discarded_rounds: tuple[DiscardedRound, ...] = ()) -> None:
        self._sentence, self.discarded_rounds = sentence, discarded_rounds

    def on_finish(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        return self.discarded_rounds

    @property
    def failed(self) -> bool:
        return True  # whoever sees nothing but failures is to see this

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        return self._sentence


class ShareWork(Work):
    """`lost` says why the host measures no more of it; empty for a share that was measured to its
    end, and while it goes on. With `is_ours` nothing is wrong with the host. `ending` is how the
    batch mode there ended. `arrived` are the lines that have come into the journal `source`, whose
    samples are on disk, `news` what people are to be told: whoever takes them clears them."""

    kind = "share"

    def __init__(
        self,
        host: Host,
        number: int,
        manifest: Manifest,
        own: Mapping[str, bytes],
        files: Mapping[str, Path],
        carrier: Carrier,
        run: Path,
    ) -> None:
        self.host, self.number, self.cases = host, number, manifest.cases
        self.lost, self.ending, self.is_ours = "", "", False
        self.folder = run / SHARES / folder_name(host.name) / str(number)
        machine = CPU if host.machine == this_machine() else f"host:{host.machine}"
        self.needs = Needs(exclusive=frozenset({machine}))
        self._own, self._carrier = own, carrier
        self._files = {**{name: self.folder / Path(name).name for name in own}, **files}
        self._rounds = manifest.rounds
        digest = text_digest(own[MANIFEST])
        self._first_line = host.name, manifest.run_id, digest, graphlap_version()
        self._link: Link | None = None
        self._by_id = {case.case_id: case for case in manifest.cases}
        self._journal = self.folder / JOURNAL / "host.jsonl"
        self.source = source_of(run, self._journal)
        self._bytes_left = MOST_BYTES
        self._unrecorded: set[Path] = set()
        self.arrived: list[Line] = []
        self.news: list[HostNews] = []
        self._sources: dict[str, Path] = {}
        self._is_stopping = False

    def start(self, place: ThisMachine) -> None:
        """Lay the share's folder out and hand it over."""
        try:
            private_folder(self.folder.parent)
            self.folder.mkdir()
            for name, content in self._own.items():
                write_atomically(self._files[name], content)
        except OSError as error:
            raise unwritable(self.folder, error, ", then resume it", " any more") from error
        try:
            # What the cache keeps is called by its content, and was read when it was taken.
            files = {
                name: path.stem if _SHA256.fullmatch(path.stem) else file_sha256(path)
                for name, path in self._files.items()
            }
            self._sources = {digest: self._files[name] for name, digest in files.items()}
            self._link = self._carrier.open(self.host.name, place.bell)
            self._link.send({"share": files})
        except (OSError, HostError) as error:
            self._lose(error)

    def advance(self) -> News:
        link = self._link
        assert link is not None, "it was started"
        try:
            for values in link.take():
                self._take(values)
            if link.lost and not self.over:
                raise HostError(link.lost)
        except (OSError, ValueError, HostError) as error:
            self._lose(error)
        if self.over:
            for path in self._unrecorded:  # of rounds in flight, of which no line tells
                path.unlink(missing_ok=True)
            return "ended"
        return "told" if self.arrived or self.news else ""

    def stop(self, now: bool) -> None:
        if self._link is not None:
            for _ in range(1 + now):
                self._link.send({"stop": True})
        self._is_stopping = True

    def close(self) -> None:
        if self._link is not None:
            self._link.lose("it was let go")

    def on_start(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        live.show(self.cases[0].case_id, None, "measure")
        return ()

    @property
    def failed(self) -> bool:
        return bool(self.lost)

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        if self.lost:
            return f"{self.host.name} is lost in share {self.number}: {self.lost}"
        cases = counted(len(self.cases), "case")
        return f"{self.host.name} has measured share {self.number}, {cases}"

    def _lose(self, error: Exception) -> None:
        """An error of the system's is of a file here."""
        self.lost, self.over, self.is_ours = str(error), True, isinstance(error, OSError)
        if isinstance(error, OSError):
            self.lost = f"{error.filename} can't be read any more ({error.strerror})"
        self.close()

    def _take(self, values: dict[str, Any]) -> None:
        """One message; HostError for one that no host sends."""
        assert self._link is not None
        match values:
            case {"waits": str(reason)}:
                self.news.append(HostNews(f"{self.host.name}: {reason:.200}"))
            case {"lacks": list(digests)} if set(map(str, digests)) <= self._sources.keys():
                for digest in digests:
                    self._link.send({}, self._sources[digest])
            case {"file": str(name), "data": str()}:
                self._append(self._place_of(name), data_of(values))
            case {"line": str(text)}:
                self._take_line(text.encode())
            case {"refused": str(cause)}:
                raise HostError(f"{cause:.500}")
            case {"ended": int(code)}:
                self.ending = str(values.get("error", ""))[:300]
                # Those of a run that came to its end, and of one that was stopped.
                if code not in (0, 1) and not (code == 130 and self._is_stopping):
                    raise HostError(f"its run ended with {self.ending}")
                self.over = True
                self.close()
            case _:
                raise HostError("it sends what can't be understood")

    def _place_of(self, name: str) -> Path:
        """A file that comes again, after the line that tells of it, replaces what came before."""
        match = _FILE.fullmatch(name)
        if match is None or match[1] not in self._by_id:
            raise HostError(f"it sends a file that is none of the share's ({name!r:.80})")
        path = self.folder / name
        if path not in self._unrecorded:
            path.unlink(missing_ok=True)  # a follower may have mapped what it held
            self._unrecorded.add(path)
        return path

    def _append(self, path: Path, data: bytes) -> None:
        self._bytes_left -= len(data)
        if self._bytes_left < 0:
            raise HostError("it sends more than a share may have")
        try:
            path.parent.mkdir(exist_ok=True)
            with path.open("ab", 0) as file:
                file.write(data)
                if path == self._journal:
                    os.fsync(file.fileno())
        except OSError as error:
            raise unwritable(path, error, ", then resume it", " any more") from error

    def _take_line(self, text: bytes) -> None:
        """Keep a line of the share's journal once it is examined."""
        line = parse_line(text)
        if line is None or b"\n" in text:
            raise HostError("it sends a line of no kind that is known")
        if fault := self._fault_in(line):
            raise HostError(f"it lies: {fault}")
        self._append(self._journal, text + b"\n")
        self._unrecorded.clear()
        self.arrived.append(line)

    def _fault_in(self, line: Line) -> str:
        """Why a line can't be of this share; "" if it can."""
        if isinstance(line, Writer) == self._journal.exists():
            return "a journal without its writer at the beginning"
        match line:
            case Writer():
                told = line.host, line.run_id, line.manifest, line.graphlap_version
                return "" if told == self._first_line else "a journal of another run"
            case ModelExported() | TimeSpent():
                return ""
            case RoundResult() | Operators() | DiscardedRound() if line.case_id not in self._by_id:
                return "a line of another case"
            case RoundResult() | Operators() if line.attempt != self.number:
                return "a line of another share"
            case RoundResult():
                return self._fault_in_round(line)
            case Operators(file=name) if name:
                path = self.folder / f"operators/{line.case_id}.csv"
                is_its = self.folder / name == path and path.is_file()
                if not is_its or crc32(read_file(path)) != line.file_crc32:
                    return "operators that its file does not bear out"
                return ""
            case Operators() | DiscardedRound():
                return ""
        return "a line that no share has"

    def _fault_in_round(self, result: RoundResult) -> str:
        case, own_samples = self._by_id[result.case_id], samples_name(result.case_id, result.round)
        if result.round >= self._rounds or result.samples not in ("", own_samples):
            return "a round that the case does not have"
        if result.status in _NOT_MEASURED or result.imported is not None:
            return f"a round that ended with {result.status}, which no measuring process reports"
        if not result.samples:
            return "a measurement without samples" if result.status in FITS else ""
        if result.clock not in ("device", clock_of(case.runtime)):
            return f"a round of {case.runtime} by the clock {result.clock}"
        counts = result.warmup_iterations, result.iterations, result.duration_s
        if min(counts) < 0 or result.concurrency < 1 or result.samples_crc32 is None:
            return "a round with counts that can't be true"
        fault = damage(self.folder / SAMPLES / result.samples, result)
        return catalogue.message(fault) if fault is not None else ""


def folder_name(host: str) -> str:
    """What the folder of a host is called: as it is where that is plain; workers have any name."""
    safe = re.sub(r"[^\w.-]", "_", host)[:100].lstrip(".")
    return safe if safe == host else f"{safe}-{text_digest(host.encode())[:8]}"
