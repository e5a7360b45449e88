"""Several run folders read as one run: all their cases, each of the host that measured it.

A host is a name and what does not change while it is one machine: processor, cores, memory. Two
that share a name, as containers do, are told apart by their folders. A round that several folders
have, as copies do, counts once. Rounds that two runs timed of one case on one host are refused: an
interval counts how much processes of one run differ, and two runs lie at other times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.cases.case import Case
from app.cases.errors import PlanError, ResultsError
from app.cases.jobs import RESULTS, SUBJECTS
from app.cases.round import RoundResult
from app.formatting.case_labels import case_label
from app.formatting.text import counted
from app.plan.plan import Plan
from app.run_folder.files import lies_within, text_digest
from app.run_folder.journal import Writer
from app.run_folder.manifest import Manifest
from app.run_folder.run import Run
from app.run_folder.telemetry import readings_path
from app.runs.verify import read_intact


class MeasuredTwice(ResultsError):
    """Runs that timed one case on one host: they can be compared and are no one run."""


def read_runs(words: Sequence[str], unite: bool = False) -> tuple[Run, tuple[str, ...]]:
    """The run of one folder, or of several given as `[NAME=]FOLDER` their union, which `unite` asks
    for of one too; and a sentence for each thing that is damaged and left out."""
    places = [named_path(word, "folder") for word in words]
    damage: list[str] = []
    parts: list[Run] = []
    for number, (_, path) in enumerate(places):
        intact = read_intact(path)
        damage += (f"{path}: {sentence}" for sentence in intact.damage_texts)
        if len(places) == 1 and not places[0][0] and not unite:
            return intact.run, tuple(damage)
        parts.append(_signed(intact.run, number, damage))
    return _union(parts, [name for name, _ in places]), tuple(damage)


def named_path(word: str, kind: str) -> tuple[str, Path]:
    """The name and the path of `NAME=PATH`, a `folder` or a `file`; "" where it has no name."""
    name, equals, path = word.partition("=")
    if not equals or Path(word).exists():
        return "", Path(word)
    if not (name and path):
        form = kind.upper()
        raise PlanError(f"{word!r} names no {kind}", f"Write it as {form} or as NAME={form}")
    return name, Path(path)


def _signed(run: Run, number: int, damage: list[str]) -> Run:
    """The run with the writer and the folder of each round, under a name that no other folder's
    writer has; without rounds of which a file is none of its own, which are added to `damage`."""
    manifest, folders = run.manifest, dict[str, Path]()
    host = str(manifest.environment.get("host") or "")
    unsigned = Writer("", 0, host, manifest.graphlap_version, manifest.environment, "", "")
    rounds: dict[str, dict[int, RoundResult]] = {}
    writers: dict[str, dict[int, Writer]] = {}
    for case_id, results in run.rounds.items():
        for place, result in results.items():
            if fault := _foreign_file(run, result):
                damage.append(f"{run.path}: damaged and left out: {fault}")
                continue
            writer = run.writers.get(case_id, {}).get(place, unsigned)
            signed = replace(writer, writer=f"{number} {writer.writer}", run_id=manifest.run_id)
            rounds.setdefault(case_id, {})[place] = result
            writers.setdefault(case_id, {})[place] = signed
            folders[signed.writer] = run.folder_of(result)
    operators = {}
    for case_id, line in run.operators.items():
        path = run.path / line.file
        is_own = bool(line.file) and lies_within(run.path, path)
        if line.file and not is_own:
            damage.append(f"{run.path}: {path} leads out of the run's folder and is left out")
        operators[case_id] = replace(line, file=str(path) if is_own else "")
    models = {(f"{number} {key[0]}", *key[1:]): model for key, model in run.models_there.items()}
    return replace(
        run, rounds=rounds, writers=writers, folders=folders, operators=operators,
        models_there=models, store=None,
    )  # fmt: skip


def _foreign_file(run: Run, result: RoundResult) -> str:
    """What of a round's files is not the run's own or is vouched for by nothing; "" if all is."""
    samples, readings = run.samples_path(result), readings_path(run, result)
    if result.samples and not lies_within(run.path, samples):
        return f"{samples} leads out of the run's folder"
    if readings.is_symlink() and not lies_within(run.path, readings):
        return f"{readings} leads out of the run's folder"
    if result.samples and result.samples_crc32 is None and not result.iterations:
        return f"{samples} has neither a checksum nor a measured run"
    return ""


_Machine = tuple[object, ...]
_HARDWARE = ("cpu", "cores_logical", "cores_physical", "virtual_machine")
_GIB = 1 << 30


def _machine(writer: Writer) -> _Machine:
    environment = writer.environment
    memory = environment.get("memory_bytes")
    # Kernels keep another little part of it to themselves.
    return *map(environment.get, _HARDWARE), round(memory / _GIB) if memory else None


def _writers(run: Run) -> list[Writer]:
    """Each that has a round."""
    by_name = {w.writer: w for writers in run.writers.values() for w in writers.values()}
    return list(by_name.values())


def _journal(writer: Writer) -> tuple[str, str]:
    """What a journal is known by, whichever folder it lies in."""
    return writer.run_id, writer.writer.partition(" ")[2]


def _host_names(parts: Sequence[Run], names: Sequence[str], notes: list[str]) -> dict[str, str]:
    """By the writer what its host is called; names of machines that share one are explained in
    `notes`. PlanError for a name that is given to a folder of several hosts."""
    journals: dict[tuple[str, str], str] = {}
    machines: dict[str, _Machine] = {}
    variants: dict[str, set[_Machine]] = {}
    for part, name in zip(parts, names, strict=True):
        hosts = dict.fromkeys(writer.host for writer in _writers(part))
        if name and len(hosts) > 1:
            raise PlanError(
                f"{part.path} is of several hosts, {', '.join(hosts)}, and {name} is one name",
                "Give the folder without a name",
            )
        for writer in _writers(part) if name else ():
            machines[journals.setdefault(_journal(writer), name)] = _machine(writer)
    others = [(p, w) for p in parts for w in _writers(p) if _journal(w) not in journals]
    for _, writer in others:
        variants.setdefault(writer.host, set()).add(_machine(writer))
    by_machine: dict[tuple[str, _Machine], str] = {}
    for part, writer in others:
        host, machine = writer.host, _machine(writer)
        if (host, machine) not in by_machine:
            name, number, folder = host, 1, part.path.resolve().name
            is_shared = len(variants[host]) > 1
            while (is_shared and name == host) or machines.get(name, machine) != machine:
                name = f"{host} ({folder} {number})" if number > 1 else f"{host} ({folder})"
                number += 1
            by_machine[host, machine] = name
            machines[name] = machine
        journals[_journal(writer)] = by_machine[host, machine]
    for host in variants:
        own = [name for (shared, _), name in by_machine.items() if shared == host]
        if own != [host]:
            notes.append(
                f"{host or 'a host without a name'} is the name of several machines, which are "
                f"called {' and '.join(own)}: name them as NAME=FOLDER"
            )
    return {w.writer: journals[_journal(w)] for part in parts for w in _writers(part)}


@dataclass(frozen=True, slots=True)
class _Case:
    """A case of one part on one host, as it is called there and in the union, with its rounds."""

    part: Run
    old: Case
    new: Case
    is_planned: bool
    rounds: Mapping[int, tuple[RoundResult, Writer]]


def _cases(
    parts: Sequence[Run], given_names: Sequence[str], names: Mapping[str, str]
) -> Iterator[_Case]:
    """Every case on each host that measured it, or is to; it has a host only where there are
    several, and those of one folder stay as they are."""
    is_alone = len(parts) == 1 and not given_names[0]
    has_hosts = len(set(filter(None, names.values()))) > 1
    has_hosts = has_hosts or any(case.host for part in parts for case in part.cases)
    for part, given_name in zip(parts, given_names, strict=True):
        hosts = {writer.host: names[writer.writer] for writer in _writers(part)}
        planned = {case.case_id for case in part.manifest.cases}
        for case in part.cases:
            first = case.host or str(part.manifest.environment.get("host") or "")
            rounds: dict[str, dict[int, tuple[RoundResult, Writer]]] = {}
            for number, result in part.rounds.get(case.case_id, {}).items():
                writer = part.writers[case.case_id][number]
                host = "" if is_alone else names[writer.writer]
                rounds.setdefault(host, {})[number] = result, writer
            for host, own in (rounds or {hosts.get(first, given_name or first): {}}).items():
                new = case if is_alone else replace(case, host=host if has_hosts else "")
                yield _Case(part, case, new, case.case_id in planned, own)


def _chosen(cases: Iterable[_Case], notes: list[str]) -> dict[str, dict[int, _Case]]:
    """By the case's id and number where each round is taken from.

    Of a case that one run timed nothing else is kept; of one that none timed the latest run.
    MeasuredTwice where two runs timed it.
    """
    by_case: dict[str, dict[str, dict[int, _Case]]] = {}
    copies = 0
    for item in cases:
        runs = by_case.setdefault(item.new.case_id, {})
        for number in item.rounds:
            found = runs.setdefault(item.part.manifest.run_id, {})
            copies += number in found
            found[number] = _preferred(found[number], item, number) if number in found else item
    if copies:
        notes.append(f"{counted(copies, 'round')} that several folders have count once")
    return {case_id: _of_one_run(list(runs.values())) for case_id, runs in by_case.items()}


def _preferred(first: _Case, second: _Case, number: int) -> _Case:
    """Which of two lines of one round of a run stands."""
    results = [item.rounds[number][0] for item in (first, second)]
    one, other = (repr(replace(result, case_id="", samples="")) for result in results)
    if one == other:
        return first
    if all(result.samples for result in results):
        raise ResultsError(
            f"{case_label(first.new)}: {first.part.path} and {second.part.path} are copies of one "
            "run which were resumed apart",
            "Name one of them",
        )
    is_first = bool(results[0].samples) or not (results[1].samples or results[0].is_tried_again)
    return first if is_first else second


def _of_one_run(runs: Sequence[Mapping[int, _Case]]) -> dict[int, _Case]:
    def results(rounds: Mapping[int, _Case]) -> list[RoundResult]:
        return [item.rounds[number][0] for number, item in rounds.items()]

    timed = [rounds for rounds in runs if any(result.samples for result in results(rounds))]
    if len(timed) > 1:
        first, second = (next(iter(rounds.values())) for rounds in timed[:2])
        raise MeasuredTwice(
            f"{case_label(first.new)} was measured twice on one host, in {first.part.path} and in "
            f"{second.part.path}, and rounds of two runs are not one measurement",
            "Name one as NAME=FOLDER to have both side by side, or use graphlap compare",
        )
    if timed:
        return dict(timed[0])
    latest = max(
        runs, key=lambda rounds: max(r.started_at_utc for r in results(rounds)), default={}
    )
    return dict(latest)


def _union(parts: Sequence[Run], given_names: Sequence[str]) -> Run:
    notes: list[str] = []
    is_alone = len(parts) == 1 and not given_names[0]
    names = {writer.writer: writer.host for part in parts for writer in _writers(part)}
    if not is_alone:
        names = _host_names(parts, given_names, notes)
    cases = list(_cases(parts, given_names, names))
    chosen = _chosen(cases, notes)
    by_run = {part.manifest.run_id: part for part in reversed(parts)}
    runs = sorted(by_run.values(), key=lambda part: part.manifest.created_at_utc)
    notes += (*_graph_differences(cases), *plan_differences(runs))
    planned, others = _side_by_side(cases)
    writers = {
        case_id: {n: _on(item.rounds[n][1], names) for n, item in sorted(found.items())}
        for case_id, found in chosen.items()
    }
    ends = [item for item in cases if _is_last(item, chosen[item.new.case_id])]
    results: dict[type, dict[str, dict[int, Any]]] = {
        kind: {
            subject.case_id: {line.number: line for line in own}
            for item in ends
            if (own := item.part.results_of(kind, item.old))
            and (subject := SUBJECTS[kind](item.new, item.part.model_of(item.old)))
        }
        for kind in RESULTS
    }
    kept = {writer.writer: writer for own in writers.values() for writer in own.values()}
    return Run(
        parts[0].path,
        _manifest(runs, planned, kept.values()),
        {
            case_id: {
                n: replace(item.rounds[n][0], case_id=case_id) for n, item in sorted(found.items())
            }
            for case_id, found in chosen.items()
        },
        writers,
        {
            (item.new.model, item.new.precision): model
            for item in reversed(cases)
            if (model := item.part.model_of(item.old)) is not None
        },
        results,
        others,
        {
            item.new.case_id: replace(line, case_id=item.new.case_id)
            for item in ends
            if (line := item.part.operators.get(item.old.case_id)) is not None
        },
        {
            item.new.case_id: {
                n: d for n, d in damaged.items() if n not in chosen[item.new.case_id]
            }
            for item in cases
            if (damaged := item.part.damaged.get(item.old.case_id))
        },
        {key: model for part in parts for key, model in part.models_there.items()},
        {writer.host: writer.environment for writer in kept.values()},
        time_spent=[line for part in runs for line in part.time_spent],
        folders={name: folder for part in parts for name, folder in part.folders.items()},
        parts={part.manifest.run_id: part for part in runs},
        notes=tuple(notes),
    )


def _on(writer: Writer, names: Mapping[str, str]) -> Writer:
    return replace(writer, host=names[writer.writer])


def _is_last(item: _Case, found: Mapping[int, _Case]) -> bool:
    """Whether the last of a case's rounds is this one's, so that what followed it is too."""
    return not found or found[max(found)] is item


def _side_by_side(cases: Iterable[_Case]) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """The plans' cases, those that only their host tells apart beside each other, and the cases
    that searches added; each once."""
    groups: dict[str, dict[str, Case]] = {}
    for item in cases:
        groups.setdefault(replace(item.new, host="").case_id, {})[item.new.case_id] = item.new
    planned = {item.new.case_id for item in cases if item.is_planned}
    ordered = [case for group in groups.values() for case in group.values()]
    return (
        tuple(case for case in ordered if case.case_id in planned),
        tuple(case for case in ordered if case.case_id not in planned),
    )


def _graph_differences(cases: Iterable[_Case]) -> Iterator[str]:
    """Of each model that is not the same graph in all folders, which it is in each."""
    graphs: dict[tuple[str, str], dict[str, dict[str, None]]] = {}
    for item in cases:
        if (model := item.part.model_of(item.old)) is not None:
            folders = graphs.setdefault((item.new.model, item.new.precision), {})
            folders.setdefault(model.sha256[:12], {})[item.part.path.resolve().name] = None
    for (name, precision), by_hash in graphs.items():
        if len(by_hash) > 1:
            where = ", ".join(f"{sha} in {' and '.join(own)}" for sha, own in by_hash.items())
            yield f"differs: the graph of {name} in {precision} is {where}"


_OWN_KEYS = ("name", "sweeps", "percentiles", "tune", "rounds")
"""Keys of which a union's plan has neither one run's value nor the default."""


def _manifest(runs: Sequence[Run], cases: tuple[Case, ...], writers: Iterable[Writer]) -> Manifest:
    """All grids and percentiles, and of every other key of the plan what all share, else its
    default; the environment is that of the one host, where there is one.

    Searches over options are those of their own runs: their ladder is of one machine.
    """
    manifests = [run.manifest for run in runs]
    plans = [manifest.requested_plan for manifest in manifests]
    shared: dict[str, Any] = {}
    for key in Plan.model_fields:
        values = [getattr(plan, key) for plan in plans]
        if key not in _OWN_KEYS and all(value == values[0] for value in values):
            shared[key] = values[0]
    counts = {manifest.rounds for manifest in manifests}
    if len(counts) > 1:  # how sure it can be follows from the most rounds there may be
        shared.pop("precise", None)
    elif len({plan.rounds for plan in plans}) == 1:
        shared["rounds"] = plans[0].rounds
    names = {plan.name for plan in plans}
    plan = Plan(
        name=names.pop() if len(names) == 1 else "union",
        sweeps=tuple({repr(grid): grid for plan in plans for grid in plan.sweeps}.values()),
        percentiles=tuple(dict.fromkeys(p for plan in plans for p in plan.percentiles)),
        **shared,
    )
    hosts = {writer.host: writer.environment for writer in writers if writer.host}
    ids = " ".join(manifest.run_id for manifest in manifests)
    return replace(
        manifests[0],
        run_id=manifests[0].run_id if len(runs) == 1 else text_digest(ids.encode())[:12],
        name=plan.name,
        seed=plan.seed or 0,
        rounds=max(counts),
        plan=plan.model_dump(mode="json"),
        cases=cases,
        environment=next(iter(hosts.values())) if len(hosts) == 1 else {},
    )


def plan_differences(runs: Sequence[Run]) -> Iterator[str]:
    """A sentence for each setting that is not the same in all; ResultsError where some only
    checked whether cases run."""
    manifests = [run.manifest for run in runs]
    plans = [manifest.requested_plan for manifest in manifests]
    folders = [run.path.resolve().name for run in runs]
    checks = [folder for folder, plan in zip(folders, plans, strict=True) if plan.check]
    measured = [folder for folder, plan in zip(folders, plans, strict=True) if not plan.check]
    if checks and measured:
        raise ResultsError(
            f"{checks[0]} is a check, which timed nothing, and {measured[0]} was measured",
            "Name checks with checks",
        )
    settings: dict[str, list[object]] = {
        key: [getattr(plan, key) for plan in plans]
        for key in Plan.model_fields
        if key not in ("name", "sweeps", "rounds")
    }
    for key in ("rounds", "time_limit_s", "graphlap_version"):
        settings[key] = [getattr(manifest, key) for manifest in manifests]
    for key, values in settings.items():
        by_value: dict[str, list[str]] = {}
        for folder, value in zip(folders, map(_word, values), strict=True):
            by_value.setdefault(value, []).append(folder)
        if len(by_value) > 1:
            where = ", ".join(f"{word} in {' and '.join(own)}" for word, own in by_value.items())
            yield f"differs: {key} is {where}"
    if len(runs) > 1 and any(plan.tune for plan in plans):
        yield "the ladders of --tune stay in the folders that they were searched in"


def _word(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "none"
    if isinstance(value, dict):
        return " ".join(f"{name}={item}" for name, item in value.items()) or "none"
    return "none" if value in (None, "") else str(value)
