"""The rounds of each case over all folders: each once, and of one run.

A round that several folders have, as copies and merged runs do, is the same line of a journal, and
is taken once. Rounds that two runs measured of one case on one host are refused: an interval
counts how much processes of one run differ, and two runs lie at other times.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from app.cases.case import Case
from app.cases.errors import ResultsError
from app.cases.round import RoundResult
from app.results.labels import case_label
from app.results.lines import Writer
from app.results.merging.naming import Names
from app.results.merging.sources import Source
from exporters.codec import to_json


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
