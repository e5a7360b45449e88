"""What is wrong with a run, and what to do about it: of single rows, and of all of them together.

Each doubt names its rows by a filter of the results table (`app/gui/tables/query.py`), which finds
those rows and no others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.cases.status import FAILED, STATUSES, WELL, Tone
from app.results.figures import ranked
from app.results.manifest import MergedRun
from app.results.plans_together import differing
from app.results.problem import Problem
from app.results.series import Series
from app.results.warned import warned
from app.stats.between import LEAST_ROUNDS

Standing = Literal["sound", "doubted", "failed"]
NOT_VALID = "not valid"
_TIMED = "clock:wall rounds>0"
_ANYWHERE = "host:*"


@dataclass(frozen=True, slots=True)
class Doubt:
    """`what` is wrong with so many `rows`, and `remedy` what to do, "" where nobody can say.

    `query` is the filter that finds the rows.
    """

    what: str
    remedy: str
    rows: int
    query: str
    tone: Tone = "doubtful"


def standing(series: Series) -> Standing:
    """Whether a case's figures can be taken as they are, are doubted, or are of a failure."""
    if series.status in FAILED:
        return "failed"
    if series.status in ("partial", "imported") or is_invalid(series) or series.row.get("warnings"):
        return "doubted"
    return "sound"


def is_invalid(series: Series) -> bool:
    """Whether a measurement that ended well broke its own protocol."""
    return series.status == "ok" and not ranked([series])


def doubts(
    series: Sequence[Series],
    environments: Mapping[str, Mapping[str, Any]],
    over: bool,
    merged: Sequence[MergedRun] = (),
    damaged: Sequence[Problem] = (),
) -> list[Doubt]:
    """Of a run's cases and of the hosts that measured them: what is `damaged`, failures, warnings,
    then the machine, then in what the runs differ that a `merged` one is of.

    While a run is not `over`, nothing is said of what it may still come to.
    """
    found = [*_of_damage(damaged, len(series)), *_of_statuses(series, over)]
    found += _of_warnings(series)
    timed = [one for one in series if one.clock == "wall" and one.timed]
    if over:
        found += _of_few_rounds(timed)
    found += _of_hosts(environments, timed)
    return [*found, *(Doubt(told, "", len(series), _ANYWHERE) for told in differing(merged))]


def _of_damage(damaged: Sequence[Problem], rows: int) -> Iterator[Doubt]:
    if damaged:
        more = f", and {len(damaged) - 1:,} more" * (len(damaged) > 1)
        yield Doubt(f"{damaged[0].cause}{more}", damaged[0].remedy, rows, _ANYWHERE, "bad")


def _of_statuses(series: Sequence[Series], over: bool) -> Iterator[Doubt]:
    grouped: dict[str, list[Series]] = {}
    for one in series:
        ended = one.status in STATUSES and (over or one.status != "cancelled")
        if ended and (one.status not in WELL or is_invalid(one)):
            grouped.setdefault(NOT_VALID if one.status == "ok" else one.status, []).append(one)
    for status, cases in grouped.items():
        reasons = {str(one.row.get("reason") or "") for one in cases}
        remedy = reasons.pop() if len(reasons) == 1 else "the column Reason says why of each"
        query = "status:ok valid:false" if status == NOT_VALID else f"status={status}"
        tone: Tone = "bad" if status in FAILED else "doubtful"
        yield Doubt(status.replace("_", " "), remedy, len(cases), query, tone)


def _of_warnings(series: Sequence[Series]) -> Iterator[Doubt]:
    for kind in warned({"case_id": one.key, "warnings": one.row.get("warnings")} for one in series):
        what, _, remedy = kind.sentence.rpartition(": ")
        shared = kind.kind.rpartition(": ")[0] or kind.kind
        query = f'warnings:"{shared.replace(chr(34), "*")}"'
        yield Doubt(what or remedy, remedy if what else "", len(kind.case_ids), query)


def _of_few_rounds(timed: Sequence[Series]) -> Iterator[Doubt]:
    few = [one for one in timed if len(one.timed) < LEAST_ROUNDS]
    if few:
        what = f"fewer than {LEAST_ROUNDS} rounds can't tell how much processes differ"
        query = f"{_TIMED} rounds<{LEAST_ROUNDS}"
        yield Doubt(what, f"use --rounds {LEAST_ROUNDS} or more", len(few), query)


def _of_hosts(
    environments: Mapping[str, Mapping[str, Any]], timed: Sequence[Series]
) -> Iterator[Doubt]:
    """What is to be doubted of machines, each time of the rows of those that it holds for."""
    measured = {str(one.row.get("host")) for one in timed}
    hosts = {name: of for name, of in environments.items() if name in measured} or environments
    virtual = [name for name, host in hosts.items() if host.get("virtual_machine")]
    remedy = "use a real machine to trust the tail, or more rounds"
    yield from _of_those(virtual, hosts, timed, "a virtual machine", remedy)
    untold = [name for name, host in hosts.items() if host.get("governor") is None]
    remedy = "nobody can say whether clocks were steady; on a real machine --doctor tells more"
    yield from _of_those(untold, hosts, timed, "the clock's governor is not told", remedy)


def _of_those(
    those: Sequence[str], hosts: Collection[str], timed: Sequence[Series], what: str, remedy: str
) -> Iterator[Doubt]:
    """One doubt where it holds for all hosts, else one for each."""
    if len(those) == len(hosts):
        yield from [Doubt(what, remedy, len(timed), _TIMED)] if timed and those else []
        return
    for name in those:
        rows = sum(one.row.get("host") == name for one in timed)
        if rows:
            query = f'{_TIMED} host="{name.replace(chr(34), "*")}"'
            yield Doubt(f"{what}: {name}", remedy, rows, query)
