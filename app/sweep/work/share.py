"""A share of a run on one host: its cases go there, what it measures comes back and is examined.

What arrives is read like a stranger's: files that a share may have, of sizes that they may have,
and journal lines that its samples bear out. A host that sends anything else is let go.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from app.cases.case import Case
from app.cases.errors import unwritable
from app.cases.round import RoundResult
from app.cases.status import FITS, Status
from app.formatting.case_labels import FILE_NAMES, ModelNames
from app.formatting.text import counted
from app.machine.environment import graphlap_version
from app.machine.installed_runtimes import clock_of
from app.remote.carriers import Carrier
from app.remote.facts import Host
from app.remote.link import HostError, Link, data_of
from app.run_folder.bundle import BUNDLE
from app.run_folder.files import text_digest, write_atomically
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
)
from app.run_folder.live_status import Live
from app.run_folder.manifest import MANIFEST
from app.run_folder.run import SAMPLES
from app.runs.reader import damage
from app.sweep.work.base import Needs, News, SettledWork, Work
from app.sweep.work.local_executor import ThisMachine
from app.sweep.work.round import SettledRound
from exporters.codec import CodecError
from exporters.diagnostics import catalogue
from exporters.file_access import file_sha256, private_folder

MOST_BYTES = 4 << 30
"""Of all files of a share."""
_EARLIER = f"{JOURNAL}/earlier.jsonl"
"""The journal, on the host alone, of rounds that it has measured before."""
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NOT_MEASURED: frozenset[Status] = frozenset({"imported", "compiles", "cancelled"})


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


class HostedRound(SettledRound):
    """A round that a host has measured."""

    def __init__(self, case: Case, result: RoundResult, host: str) -> None:
        super().__init__(case, result)
        self.host = host

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        return f"{self.host}: {super().text(models)}"


@dataclass(frozen=True, slots=True)
class Share:
    """`files` are what the host needs beside the manifest, the bundle and the journal of `earlier`
    rounds that it goes on from, by their place in the share. `rounds` is how many a case may
    have."""

    host: Host
    number: int
    run_id: str
    rounds: int
    cases: tuple[Case, ...]
    manifest: bytes
    bundle: bytes
    earlier: bytes
    files: dict[str, Path]


class ShareWork(Work):
    """`lost` says why the host measures no more of it; empty for a share that was measured to its
    end, and while it goes on. With `is_ours` nothing is wrong with the host. `ending` is how the
    batch mode there ended."""

    kind = "share"

    def __init__(self, share: Share, carrier: Carrier, run: Path, needs: Needs) -> None:
        self.share, self.needs = share, needs
        self.lost, self.ending, self.is_ours = "", "", False
        self.folder = run / SHARES / folder_name(share.host.name) / str(share.number)
        self._carrier = carrier
        self._link: Link | None = None
        self._cases = {case.case_id: case for case in share.cases}
        self._journal, self._torn = "", b""
        self._sizes: dict[str, int] = {}
        self._arrived: list[tuple[str, Line]] = []
        self._news: list[str] = []
        self._recorded: set[str] = set()
        self._sources: dict[str, Path] = {}
        self._is_stopping = False

    def start(self, place: ThisMachine) -> None:
        """Lay the share's folder out and hand it over."""
        share = self.share
        own = {MANIFEST: share.manifest, BUNDLE: share.bundle}
        own |= {_EARLIER: share.earlier} if share.earlier else {}
        try:
            private_folder(self.folder.parent)
            for folder in (JOURNAL, SAMPLES):
                (self.folder / folder).mkdir(parents=True)
            for name, content in own.items():
                write_atomically(self.folder / Path(name).name, content)
        except OSError as error:
            raise unwritable(self.folder, error, ", then resume it", " any more") from error
        paths = {name: self.folder / Path(name).name for name in own}
        files = {}
        try:
            for name, path in {**paths, **share.files}.items():
                # What the cache keeps is called by its content, and was read when it was taken.
                files[name] = path.stem if _SHA256.fullmatch(path.stem) else file_sha256(path)
                self._sources[files[name]] = path
            self._link = self._carrier.open(share.host.name, place.bell)
            self._link.send({"share": files})
        except OSError as error:
            self.is_ours = True
            self._lose(f"{error.filename} can't be read any more ({error.strerror})")
        except HostError as error:
            self._lose(error.cause)

    def advance(self) -> News:
        link = self._link
        assert link is not None, "it was started"
        try:
            for values in link.take():
                self._take(values)
        except (HostError, CodecError) as error:
            self._lose(error.cause if isinstance(error, HostError) else str(error))
        if link.lost and not self.over:
            self.is_ours = link.is_ours
            self._lose(link.lost)
        if self.over:
            self._drop_unrecorded()
            return "ended"
        return "told" if self._arrived or self._news else ""

    def stop(self, now: bool) -> None:
        if self._link is not None:
            for _ in range(1 + now):
                self._link.send({"stop": True})
        self._is_stopping = True

    def close(self) -> None:
        if self._link is not None:
            self._link.lose("it was let go")

    def arrived(self) -> list[tuple[str, Line]]:
        """The lines that have come since the last call, each with what its journal is called; their
        samples are on disk."""
        lines, self._arrived = self._arrived, []
        return lines

    def news(self) -> Iterator[Work]:
        """What people are told of it since the last call."""
        sentences, self._news = self._news, []
        yield from map(HostNews, sentences)

    def on_start(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        live.show(self.share.cases[0].case_id, None, "measure")
        return ()

    def on_finish(self, folder: RunFolder, live: Live) -> Iterable[Line]:
        return ()

    @property
    def failed(self) -> bool:
        return bool(self.lost)

    def text(self, models: ModelNames = FILE_NAMES) -> str:
        host, cases = self.share.host.name, counted(len(self.share.cases), "case")
        if self.lost:
            return f"{host} is lost in share {self.share.number}: {self.lost}"
        return f"{host} has measured share {self.share.number}, {cases}"

    def _lose(self, why: str) -> None:
        self.lost, self.over = why, True
        self.close()

    def _take(self, values: dict[str, Any]) -> None:
        """One message; HostError for one that no host sends."""
        assert self._link is not None
        match values:
            case {"waits": str(reason)}:
                self._news.append(f"{self.share.host.name}: {reason:.200}")
            case {"lacks": list(digests)}:
                for digest in digests:
                    if digest not in self._sources:
                        raise HostError("it asks for a file that is none of the share's")
                    self._link.send(self._sources[digest])
            case {"file": str(name), "offset": int(offset)}:
                self._receive(name, offset, data_of(values))
            case {"refused": str(cause)}:
                raise HostError(f"{cause:.500}")
            case {"ended": int(code)}:
                self._end(code, str(values.get("error", "")))
            case _:
                raise HostError("it sends what can't be understood")

    def _end(self, code: int, error: str) -> None:
        """0 and 1 are codes of a run that came to its end, 130 of one that was stopped."""
        if code not in (0, 1, 130) or (code == 130 and not self._is_stopping):
            raise HostError(f"its run ended with {error:.300}")
        self.over, self.ending = True, error[:300]
        self.close()

    def _receive(self, name: str, offset: int, data: bytes) -> None:
        """The next part of a file; one that begins again replaces what came before."""
        if not self._allowed.fullmatch(name):
            raise HostError(f"it sends a file that is none of the share's ({name!r:.80})")
        size = self._sizes.get(name, 0)
        is_journal = name.startswith(f"{JOURNAL}/")
        if offset != size and (offset or is_journal):
            raise HostError(f"a part of {name} did not arrive")
        self._sizes[name] = offset + len(data)
        if sum(self._sizes.values()) > MOST_BYTES:
            raise HostError("it sends more than a share may have")
        if is_journal:
            self._take_lines(name, data)
        else:
            self._write(name, data, "ab" if offset else "wb")

    @cached_property
    def _allowed(self) -> re.Pattern[str]:
        """The names of files that a share may have."""
        cases = "|".join(map(re.escape, self._cases))
        return re.compile(
            rf"{JOURNAL}/[\w.-]{{1,200}}\.jsonl|{SAMPLES}/(?:{cases})\.\d{{1,6}}\.bin"
            rf"|telemetry/(?:{cases})\.\d{{1,6}}\.jsonl|operators/(?:{cases})\.csv"
        )

    def _write(self, name: str, data: bytes, mode: str, durable: bool = False) -> None:
        path = self.folder / name
        try:
            path.parent.mkdir(exist_ok=True)
            if mode == "wb":
                path.unlink(missing_ok=True)  # a follower may have mapped what it held
            with path.open(mode) as file:
                file.write(data)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as error:
            raise unwritable(path, error, ", then resume it", " any more") from error

    def _take_lines(self, name: str, data: bytes) -> None:
        """Keep the whole lines of the share's one journal, each examined."""
        if self._journal not in ("", name):
            raise HostError("it sends more journals than a share has")
        self._journal = name
        *texts, self._torn = (self._torn + data).split(b"\n")
        is_first = not (self.folder / name).exists()
        for text in texts:
            line = parse_line(text)
            if line is None:
                raise HostError("it sends a line of no kind that is known")
            if is_first:
                self._examine_writer(Path(name).stem, line)
            elif fault := self._fault_in(line):
                raise HostError(f"it lies: {fault}")
            is_first = False
            source = f"{self.folder.relative_to(self.folder.parents[2])}/{Path(name).name}"
            self._arrived.append((source, line))
        if texts:
            self._write(name, b"".join(text + b"\n" for text in texts), "ab", durable=True)

    def _examine_writer(self, stem: str, line: Line) -> None:
        share = self.share
        expected = share.host.name, share.run_id, text_digest(share.manifest), graphlap_version()
        if not isinstance(line, Writer) or (stem, *expected) != (
            *(line.writer, line.host, line.run_id, line.manifest, line.graphlap_version),
        ):
            raise HostError("it sends a journal of another run")

    def _fault_in(self, line: Line) -> str:
        """Why a line can't be of this share; "" if it can."""
        match line:
            case RoundResult():
                fault = self._fault_in_round(line)
                self._recorded |= set() if fault else {f"{SAMPLES}/{line.samples}"}
                return fault
            case Operators():
                if line.case_id not in self._cases or line.attempt != self.share.number:
                    return "operators of another case"
                own = "", f"operators/{line.case_id}.csv"
                return "" if line.file in own else "operators in another file"
            case DiscardedRound():
                return "" if line.case_id in self._cases else "a round of another case"
            case ModelExported() | TimeSpent():
                return ""
        return "a line that no share has"

    def _fault_in_round(self, result: RoundResult) -> str:
        case = self._cases.get(result.case_id)
        if case is None or result.attempt != self.share.number or result.round >= self.share.rounds:
            return "a round of another case"
        if result.status in _NOT_MEASURED or result.imported is not None:
            return f"a round that ended with {result.status}, which no measuring process reports"
        if not result.samples:
            return "a measurement without samples" if result.status in FITS else ""
        if result.samples != samples_name(result.case_id, result.round):
            return "a round with the samples of another"
        if result.clock not in ("device", clock_of(case.runtime)):
            return f"a round of {case.runtime} by the clock {result.clock}"
        counts = result.warmup_iterations, result.iterations, result.duration_s
        if min(counts) < 0 or result.concurrency < 1 or result.samples_crc32 is None:
            return "a round with counts that can't be true"
        fault = damage(self.folder / SAMPLES / result.samples, result)
        return catalogue.message(fault) if fault is not None else ""

    def _drop_unrecorded(self) -> None:
        """Samples of rounds in flight, of which no line tells."""
        for path in (self.folder / SAMPLES).glob("*"):
            if f"{SAMPLES}/{path.name}" not in self._recorded:
                path.unlink(missing_ok=True)


def folder_name(host: str) -> str:
    """What the folder of a host is called: as it is where that is plain; workers have any name."""
    safe = re.sub(r"[^\w.-]", "_", host)[:100].lstrip(".")
    return safe if safe == host else f"{safe}-{sha256(host.encode()).hexdigest()[:8]}"
