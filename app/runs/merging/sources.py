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
from app.run_folder.manifest import MergedRun, RunHeader, read_manifest
from app.run_folder.operators import FOLDER as OPERATORS
from app.run_folder.run import SAMPLES, Run
from app.runs.verify import read_intact
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
    damage: tuple[str, ...]

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
        attributes = {field.name: getattr(manifest, field.name) for field in fields(RunHeader)}
        part = MergedRun(
            **attributes,
            folder=self.folder,
            graphlap_version=manifest.graphlap_version,
            schema_version=manifest.schema_version,
            writers=tuple(self.writers),
            assumed_sizes=manifest.assumed_sizes,
        )
        return (part,)


def read_source(path: Path, name: str = "") -> Source:
    """ResultsError for a folder that is no run, or one that is being measured now."""
    read_manifest(path)
    if is_being_written(path):
        raise ResultsError(f"{path} is being measured", "merge it when it has ended, or stop it")
    intact = read_intact(path)
    damage = [f"{path / item.file} {item.problem}" for item in intact.findings if not item.harmless]
    damage += [f"{item} leads out of the run's folder" for item in _escaping_paths(path)]
    run, refusals = _with_own_samples(intact.run)
    results = (result for rounds in run.rounds.values() for result in rounds.values())
    by_name = {writer.writer: writer for writer in (_writer_of(run, item) for item in results)}
    return Source(path, name, run, by_name, (*damage, *refusals))


def _with_own_samples(run: Run) -> tuple[Run, list[str]]:
    """The run without rounds whose samples are not a file of its folder, or of which nothing says
    that they are samples; a sentence for each of them."""
    rounds: dict[str, dict[int, RoundResult]] = {}
    refusals: list[str] = []
    for case_id, results in run.rounds.items():
        rounds[case_id] = {}
        for number, result in results.items():
            path = run.path / SAMPLES / result.samples
            if result.samples and not lies_within(run.path, path):
                refusals.append(f"{path} leads out of the run's folder")
            elif result.samples and result.samples_crc32 is None and not result.iterations:
                refusals.append(f"{path} has neither a checksum nor a measured run")
            else:
                rounds[case_id][number] = result
    return replace(run, rounds=rounds, store=None), refusals


def _escaping_paths(run: Path) -> Iterator[Path]:
    """Links of a folder to what is somebody's else, which no checksum of the run tells of."""
    for folder in (INPUTS, OPERATORS, TELEMETRY):
        for path in sorted((run / folder).glob("*")):
            if path.is_symlink() and not lies_within(run, path):
                yield path


def _writer_of(run: Run, result: RoundResult) -> Writer:
    """Who wrote a round; where no journal says it, it was the host that began the run."""
    writer = run.writers.get(result.case_id, {}).get(result.round)
    if writer is not None:
        return writer
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
    explicit = _explicit_names(sources)
    host_names: dict[str, str] = {}
    names_by_machine: dict[tuple[str, Machine], str] = {}
    machines = {name: _machine(writer) for name, writer in explicit.values()}
    shared_hosts = _shared_names(sources, explicit)
    for source in sources:
        for name, writer in source.writers.items():
            if name in host_names:
                continue
            if name in explicit:
                host_names[name] = explicit[name][0]
                continue
            key = (writer.host, _machine(writer))
            if key not in names_by_machine:
                is_free = (
                    writer.host not in shared_hosts and machines.get(writer.host, key[1]) == key[1]
                )
                host_name = (
                    writer.host
                    if is_free
                    else _distinct_name(writer.host, source.folder, machines, key[1])
                )
                names_by_machine[key] = host_name
                machines[host_name] = key[1]
            host_names[name] = names_by_machine[key]
    return Names(host_names, tuple(_sentences(names_by_machine)))


def _explicit_names(sources: Sequence[Source]) -> dict[str, tuple[str, Writer]]:
    """By journal the name that was given for its folder."""
    explicit: dict[str, tuple[str, Writer]] = {}
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
            explicit.setdefault(name, (source.name, writer))
    return explicit


def _shared_names(sources: Sequence[Source], explicit: Mapping[str, object]) -> set[str]:
    """The hosts' names that several machines have."""
    machines: dict[str, set[Machine]] = {}
    for source in sources:
        for name, writer in source.writers.items():
            if name not in explicit:
                machines.setdefault(writer.host, set()).add(_machine(writer))
    return {host for host, variants in machines.items() if len(variants) > 1}


def _machine(writer: Writer) -> Machine:
    environment = writer.environment
    memory = environment.get("memory_bytes")
    # Kernels keep another little part of it to themselves.
    return *map(environment.get, _HARDWARE), round(memory / _GIB) if memory else None


def _distinct_name(
    host: str, folder: str, machines: Mapping[str, Machine], machine: Machine
) -> str:
    name, number = f"{host} ({folder})", 2
    while machines.get(name, machine) != machine:
        name, number = f"{host} ({folder} {number})", number + 1
    return name


def _sentences(names_by_machine: Mapping[tuple[str, Machine], str]) -> list[str]:
    names_by_host: dict[str, list[str]] = {}
    for (host, _), name in names_by_machine.items():
        names_by_host.setdefault(host, []).append(name)
    return [
        f"{host or 'a host without a name'} is the name of several machines, which are called "
        f"{' and '.join(names)}: name them as NAME=FOLDER"
        for host, names in names_by_host.items()
        if names != [host]
    ]


@dataclass(frozen=True, slots=True)
class CaseMove:
    """A case of a source under what it is called now, with its rounds there; `planned` says that it
    is of the plan and not of a search."""

    source: Source
    old: Case
    new: Case
    planned: bool
    rounds: tuple[tuple[Writer, RoundResult], ...]


@dataclass(frozen=True, slots=True)
class SourceRound:
    """A round that is kept, and whose it is."""

    move: CaseMove
    writer: Writer
    result: RoundResult


def case_moves(sources: Sequence[Source], names: Names) -> list[CaseMove]:
    """Every case of every source on each host that measured it, or is to; a case has a host only
    where there are several."""
    has_hosts = len(names.hosts) > 1 or any(
        case.host for source in sources for case in source.run.cases
    )
    moves = []
    for source in sources:
        hosts = {writer.host: names.by_writer[name] for name, writer in source.writers.items()}
        planned_ids = {case.case_id for case in source.run.manifest.cases}
        for case in source.run.cases:
            rounds = list(source.rounds_of(case))
            case_hosts = dict.fromkeys(names.by_writer[writer.writer] for writer, _ in rounds)
            for host in case_hosts or [_target_host(source, case, hosts)]:
                host_rounds = tuple(
                    pair for pair in rounds if names.by_writer[pair[0].writer] == host
                )
                new = replace(case, host=host if has_hosts else "")
                moves.append(CaseMove(source, case, new, case.case_id in planned_ids, host_rounds))
    return moves


def _target_host(source: Source, case: Case, hosts: Mapping[str, str]) -> str:
    """The host of a case that has no round: its own, or the one that began the run."""
    host = case.host or str(source.run.manifest.environment.get("host") or "")
    return hosts.get(host, host)


def select_rounds(moves: Iterable[CaseMove]) -> tuple[dict[str, dict[int, SourceRound]], int]:
    """By the case's id and number the rounds that are kept, and how many were there twice.

    Of a case that only one run timed nothing else is kept; of one that none timed the latest run.
    ResultsError where two runs timed it.
    """
    runs_by_case: dict[str, dict[str, dict[int, SourceRound]]] = {}
    duplicates = 0
    for move in moves:
        for writer, result in move.rounds:
            run_id = move.source.run.manifest.run_of(writer.writer).run_id
            rounds_by_number = runs_by_case.setdefault(move.new.case_id, {}).setdefault(run_id, {})
            source_round = SourceRound(move, writer, result)
            first = rounds_by_number.get(result.round)
            rounds_by_number[result.round] = (
                source_round if first is None else _preferred_round(first, source_round)
            )
            duplicates += first is not None
    return {
        case_id: _rounds_of_single_run(runs) for case_id, runs in runs_by_case.items()
    }, duplicates


def _preferred_round(first: SourceRound, second: SourceRound) -> SourceRound:
    """Which of two lines of one round of a run stands."""
    if _content(first.result) == _content(second.result):
        return first
    timed_candidates = [candidate for candidate in (first, second) if candidate.result.samples]
    if len(timed_candidates) == 2:
        raise ResultsError(
            f"{_label(first)}: {first.move.source.path} and {second.move.source.path} are copies "
            "of one run which were resumed apart",
            "merge one of them",
        )
    final_rounds = [
        candidate for candidate in (first, second) if not candidate.result.is_tried_again
    ]
    return next(iter(timed_candidates or final_rounds), second)


def _rounds_of_single_run(runs: Mapping[str, dict[int, SourceRound]]) -> dict[int, SourceRound]:
    timed_runs = [
        rounds for rounds in runs.values() if any(t.result.samples for t in rounds.values())
    ]
    if len(timed_runs) > 1:
        first, second = (next(iter(rounds.values())) for rounds in timed_runs[:2])
        raise ResultsError(
            f"{_label(first)} was measured twice on one host, in {first.move.source.path} and in "
            f"{second.move.source.path}, and rounds of two runs are not one measurement",
            "name one as NAME=FOLDER to have both side by side, or use graphlap compare",
        )
    return timed_runs[0] if timed_runs else max(runs.values(), key=_start_time)


def _start_time(rounds: Mapping[int, SourceRound]) -> str:
    return max(source_round.result.started_at_utc for source_round in rounds.values())


def _label(source_round: SourceRound) -> str:
    return case_label(source_round.move.new)


def _content(result: RoundResult) -> str:
    """What a round is, but for the names that it has in a folder."""
    return json.dumps(to_json(replace(result, case_id="", samples="")), sort_keys=True, default=str)
