"""Sources of a merge: run folders, the names of their machines, the rounds of each case.

A machine is a host's name and what does not change while it is one: processor, cores, memory.
Two
that share a name, as containers do, are told apart by their folders.

A round that several folders have, as copies and merged runs do, is the same line of a journal,
and is taken once. Rounds that two runs measured of one case on one host are refused: an
interval
counts how much processes of one run differ, and two runs lie at other times.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from app.cases.case import Case
from app.cases.errors import PlanError, ResultsError
from app.cases.round import RoundResult
from app.formatting.case_labels import case_label
from app.run_folder.files import lies_within
from app.run_folder.folder import INPUTS, TELEMETRY, is_being_written
from app.run_folder.journal import Writer
from app.run_folder.manifest import Begun, MergedRun, read_manifest
from app.run_folder.operators import FOLDER as OPERATORS
from app.run_folder.run import SAMPLES, Run
from app.runs.verify import read_whole
from exporters.codec import to_json


@dataclass(frozen=True, slots=True)
class Source:
    """`name` is what its host is to be called, "" where the folder says that itself. `writers` are
    those of its rounds, by their names. `lost` says in a sentence each what is damaged and left
    out."""

    path: Path
    name: str
    run: Run
    writers: Mapping[str, Writer]
    lost: tuple[str, ...]

    @property
    def folder(self) -> str:
        """What the folder is called."""
        return self.path.resolve().name

    def rounds_of(self, case: Case) -> Iterator[tuple[Writer, RoundResult]]:
        for result in self.run.rounds_of(case):
            yield _writer_of(self.run, result), result

    @property
    def parts(self) -> tuple[MergedRun, ...]:
        """The runs that are in it: itself, or those that it was merged of."""
        manifest = self.run.manifest
        if manifest.merged:
            return manifest.merged
        own = {field.name: getattr(manifest, field.name) for field in fields(Begun)}
        one = MergedRun(
            **own,
            folder=self.folder,
            graphlap_version=manifest.graphlap_version,
            schema_version=manifest.schema_version,
            writers=tuple(self.writers),
            assumed_sizes=manifest.assumed_sizes,
        )
        return (one,)


def read_source(path: Path, name: str = "") -> Source:
    """ResultsError for a folder that is no run, or one that is being measured now."""
    read_manifest(path)
    if is_being_written(path):
        raise ResultsError(f"{path} is being measured", "merge it when it has ended, or stop it")
    found = read_whole(path)
    lost = [f"{path / one.file} {one.what}" for one in found.findings if not one.harmless]
    lost += [f"{one} leads out of the run's folder" for one in _leading_out(path)]
    run, refused = _with_own_samples(found.run)
    results = (result for rounds in run.rounds.values() for result in rounds.values())
    by_name = {writer.writer: writer for writer in (_writer_of(run, one) for one in results)}
    return Source(path, name, run, by_name, (*lost, *refused))


def _with_own_samples(run: Run) -> tuple[Run, list[str]]:
    """The run without rounds whose samples are not a file of its folder, or of which nothing says
    that they are samples; a sentence for each of them."""
    rounds: dict[str, dict[int, RoundResult]] = {}
    refused: list[str] = []
    for case_id, known in run.rounds.items():
        rounds[case_id] = {}
        for number, result in known.items():
            path = run.path / SAMPLES / result.samples
            if result.samples and not lies_within(run.path, path):
                refused.append(f"{path} leads out of the run's folder")
            elif result.samples and result.samples_crc32 is None and not result.iterations:
                refused.append(f"{path} has neither a checksum nor a measured run")
            else:
                rounds[case_id][number] = result
    return replace(run, rounds=rounds), refused


def _leading_out(run: Path) -> Iterator[Path]:
    """Links of a folder to what is somebody's else, which no checksum of the run tells of."""
    for folder in (INPUTS, OPERATORS, TELEMETRY):
        for path in sorted((run / folder).glob("*")):
            if path.is_symlink() and not lies_within(run, path):
                yield path


def _writer_of(run: Run, result: RoundResult) -> Writer:
    """Who wrote a round; where no journal says it, it was the host that began the run."""
    known = run.writers.get(result.case_id, {}).get(result.round)
    if known is not None:
        return known
    manifest = run.manifest
    host = str(manifest.environment.get("host") or "")
    name = f"unsigned-{manifest.run_id}"
    return Writer(name, 0, host, manifest.graphlap_version, manifest.environment)


_HARDWARE = ("cpu", "cores_logical", "cores_physical", "virtual_machine")
_GIB = 1 << 30

Machine = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Names:
    """`by_writer` has the host of each journal, `sentences` say of a name how it came about."""

    by_writer: Mapping[str, str]
    sentences: tuple[str, ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        """Each once, in the order of the folders; what was imported is of none."""
        return tuple(dict.fromkeys(filter(None, self.by_writer.values())))


def names_of(sources: Sequence[Source]) -> Names:
    """A journal that is in several folders has one name; PlanError for a name that is given to a
    folder of several hosts."""
    given = _given(sources)
    found: dict[str, str] = {}
    called: dict[tuple[str, Machine], str] = {}
    taken = {name: _machine(writer) for name, writer in given.values()}
    shared = _shared_names(sources, given)
    for source in sources:
        for name, writer in source.writers.items():
            if name in found:
                continue
            if name in given:
                found[name] = given[name][0]
                continue
            key = (writer.host, _machine(writer))
            if key not in called:
                free = writer.host not in shared and taken.get(writer.host, key[1]) == key[1]
                own = writer.host if free else _apart(writer.host, source.folder, taken, key[1])
                called[key] = own
                taken[own] = key[1]
            found[name] = called[key]
    return Names(found, tuple(_sentences(called)))


def _given(sources: Sequence[Source]) -> dict[str, tuple[str, Writer]]:
    """By journal the name that was given for its folder."""
    given: dict[str, tuple[str, Writer]] = {}
    for source in sources:
        writers = source.writers
        hosts = dict.fromkeys(writer.host for writer in writers.values())
        if source.name and len(hosts) > 1:
            raise PlanError(
                f"{source.path} is of several hosts, {', '.join(hosts)}, and {source.name} is one "
                "name",
                "give the folder without a name",
            )
        for name, writer in writers.items() if source.name else ():
            given.setdefault(name, (source.name, writer))
    return given


def _shared_names(sources: Sequence[Source], given: Mapping[str, object]) -> set[str]:
    """The hosts' names that several machines have."""
    machines: dict[str, set[Machine]] = {}
    for source in sources:
        for name, writer in source.writers.items():
            if name not in given:
                machines.setdefault(writer.host, set()).add(_machine(writer))
    return {host for host, known in machines.items() if len(known) > 1}


def _machine(writer: Writer) -> Machine:
    told = writer.environment
    memory = told.get("memory_bytes")
    # Kernels keep another little part of it to themselves.
    return *map(told.get, _HARDWARE), round(memory / _GIB) if memory else None


def _apart(host: str, folder: str, taken: Mapping[str, Machine], machine: Machine) -> str:
    name, number = f"{host} ({folder})", 2
    while taken.get(name, machine) != machine:
        name, number = f"{host} ({folder} {number})", number + 1
    return name


def _sentences(called: Mapping[tuple[str, Machine], str]) -> list[str]:
    of: dict[str, list[str]] = {}
    for (host, _), name in called.items():
        of.setdefault(host, []).append(name)
    return [
        f"{host or 'a host without a name'} is the name of several machines, which are called "
        f"{' and '.join(names)}: name them as NAME=FOLDER"
        for host, names in of.items()
        if names != [host]
    ]


@dataclass(frozen=True, slots=True)
class Moved:
    """A case of a source under what it is called now, with its rounds there; `planned` says that it
    is of the plan and not of a search."""

    source: Source
    old: Case
    new: Case
    planned: bool
    rounds: tuple[tuple[Writer, RoundResult], ...]


@dataclass(frozen=True, slots=True)
class Taken:
    """A round that is kept, and whose it is."""

    moved: Moved
    writer: Writer
    result: RoundResult


def moved_cases(sources: Sequence[Source], names: Names) -> list[Moved]:
    """Every case of every source on each host that measured it, or is to; a case has a host only
    where there are several."""
    placed = len(names.hosts) > 1 or any(
        case.host for source in sources for case in source.run.cases
    )
    found = []
    for source in sources:
        hosts = {writer.host: names.by_writer[name] for name, writer in source.writers.items()}
        planned = {case.case_id for case in source.run.manifest.cases}
        for case in source.run.cases:
            rounds = list(source.rounds_of(case))
            own = dict.fromkeys(names.by_writer[writer.writer] for writer, _ in rounds)
            for host in own or [_to_measure(source, case, hosts)]:
                there = tuple(one for one in rounds if names.by_writer[one[0].writer] == host)
                new = replace(case, host=host if placed else "", naming=2)
                found.append(Moved(source, case, new, case.case_id in planned, there))
    return found


def _to_measure(source: Source, case: Case, hosts: Mapping[str, str]) -> str:
    """The host of a case that has no round: its own, or the one that began the run."""
    host = case.host or str(source.run.manifest.environment.get("host") or "")
    return hosts.get(host, host)


def taken_rounds(moved: Iterable[Moved]) -> tuple[dict[str, dict[int, Taken]], int]:
    """By the case's id and number the rounds that are kept, and how many were there twice.

    Of a case that only one run timed nothing else is kept; of one that none timed the latest run.
    ResultsError where two runs timed it.
    """
    found: dict[str, dict[str, dict[int, Taken]]] = {}
    twice = 0
    for one in moved:
        for writer, result in one.rounds:
            of = one.source.run.manifest.run_of(writer.writer).run_id
            known = found.setdefault(one.new.case_id, {}).setdefault(of, {})
            taken = Taken(one, writer, result)
            first = known.get(result.round)
            known[result.round] = taken if first is None else _of_two(first, taken)
            twice += first is not None
    return {case_id: _of_one_run(runs) for case_id, runs in found.items()}, twice


def _of_two(first: Taken, second: Taken) -> Taken:
    """Which of two lines of one round of a run stands."""
    if _content(first.result) == _content(second.result):
        return first
    timed = [taken for taken in (first, second) if taken.result.samples]
    if len(timed) == 2:
        raise ResultsError(
            f"{_named(first)}: {first.moved.source.path} and {second.moved.source.path} are copies "
            "of one run which were resumed apart",
            "merge one of them",
        )
    known = [taken for taken in (first, second) if not taken.result.is_tried_again]
    return next(iter(timed or known), second)


def _of_one_run(runs: Mapping[str, dict[int, Taken]]) -> dict[int, Taken]:
    timed = [known for known in runs.values() if any(t.result.samples for t in known.values())]
    if len(timed) > 1:
        first, second = (next(iter(known.values())) for known in timed[:2])
        raise ResultsError(
            f"{_named(first)} was measured twice on one host, in {first.moved.source.path} and in "
            f"{second.moved.source.path}, and rounds of two runs are not one measurement",
            "name one as NAME=FOLDER to have both side by side, or use graphlap compare",
        )
    return timed[0] if timed else max(runs.values(), key=_begun)


def _begun(known: Mapping[int, Taken]) -> str:
    return max(taken.result.started_at_utc for taken in known.values())


def _named(taken: Taken) -> str:
    return case_label(taken.moved.new)


def _content(result: RoundResult) -> str:
    """What a round is, but for the names that it has in a folder."""
    return json.dumps(to_json(replace(result, case_id="", samples="")), sort_keys=True, default=str)
