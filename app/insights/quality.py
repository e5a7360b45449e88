"""The quality of a run: issues of its rows and of all of it, each cause once, with actions.

Rows that are not valid are grouped by the codes of their errors, others by status and reason.

Each issue names its rows by a filter of the results table (`app/gui/tables/query.py`), which
finds those rows and no others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.cases.column import Row
from app.cases.status import FAILED, INCOMPLETE, STATUSES, WELL, Tone
from app.formatting.text import one_line
from app.plot_data.series import Series, ranked
from app.run_folder.diagnostics import diagnostics_of, text
from app.run_folder.files import Problem
from app.run_folder.hosts import differing
from app.run_folder.manifest import MergedRun
from app.stats.intervals import LEAST_ROUNDS
from exporters.diagnostics import catalogue as rendering
from exporters.diagnostics.catalogue import codes, diagnostic, grouped
from exporters.diagnostics.diagnostic import SEVERITIES, Diagnostic

NOT_VALID = "not valid"


@dataclass(frozen=True, slots=True)
class Cause:
    """`status` is what the rows are called, `reason` one sentence, `case_ids` whose it is; `codes`
    are those of the diagnostics that made rows invalid."""

    status: str
    reason: str
    case_ids: tuple[str, ...]
    codes: tuple[str, ...] = ()


def causes(rows: Iterable[Row]) -> list[Cause]:
    """The causes of all rows that are not well, or that broke their protocol, as they appear."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[Row]] = {}
    for row in rows:
        status, reason = str(row["status"]), str(row["reason"] or "")
        key: tuple[str, str, tuple[str, ...]] = status, reason, ()
        if status in WELL:
            if row["valid"] is not False:
                continue
            error_codes = codes(_errors(row))
            key = NOT_VALID, "" if error_codes else reason, error_codes
        groups.setdefault(key, []).append(row)
    return [
        Cause(
            status,
            reason or _reason(members),
            tuple(str(row["case_id"]) for row in members),
            error_codes,
        )
        for (status, reason, error_codes), members in groups.items()
    ]


def _errors(row: Row) -> list[Diagnostic]:
    return [one for one in diagnostics_of(row) if one.severity == "error"]


def _reason(rows: Iterable[Row]) -> str:
    """The errors of these rows by their codes, with the ranges of their figures."""
    groups = grouped((str(row["case_id"]), _errors(row)) for row in rows)
    return " ".join(text(*group.diagnostics) for group in groups)


Standing = Literal["sound", "doubted", "failed"]
_TIMED = "clock:wall rounds>0"
_ANYWHERE = "host:*"


@dataclass(frozen=True, slots=True)
class Doubt:
    """What is wrong with so many `rows`: `what` in few words, `detail` with figures, and `remedy`,
    what to do about it; the last two may be empty.

    `query` is the filter that finds the rows, `code` that of a diagnostic.
    """

    what: str
    remedy: str
    rows: int
    query: str
    tone: Tone = "warning"
    detail: str = ""
    code: str = ""


def standing(series: Series) -> Standing:
    """Whether a case's figures can be taken as they are, are doubted, or are of a failure; what is
    damaged is doubted."""
    if series.status in FAILED:
        return "failed"
    if series.status in ("partial", "imported") or is_invalid(series) or series.row.get("warnings"):
        return "doubted"
    if series.damage:
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
        yield Doubt(f"{damaged[0].cause}{more}", damaged[0].remedy, rows, _ANYWHERE, "error")


def _of_statuses(series: Sequence[Series], over: bool) -> Iterator[Doubt]:
    grouped: dict[str, list[Series]] = {}
    for one in series:
        ended = one.status in STATUSES and (over or one.status not in INCOMPLETE)
        if ended and (one.status not in WELL or is_invalid(one)):
            grouped.setdefault(NOT_VALID if one.status == "ok" else one.status, []).append(one)
    for status, cases in grouped.items():
        reasons = {str(one.row.get("reason") or "") for one in cases}
        remedy = reasons.pop() if len(reasons) == 1 else "the column Reason has the reason of each"
        query = "status:ok valid:false" if status == NOT_VALID else f"status={status}"
        tone: Tone = "error" if status in FAILED else "warning"
        yield Doubt(status.replace("_", " "), remedy, len(cases), query, tone)


def _of_warnings(series: Sequence[Series]) -> Iterator[Doubt]:
    groups = grouped((one.key, diagnostics_of(one.row)) for one in series)
    for group in groups:
        yield _of_diagnostics(group.diagnostics, len(group.case_ids), f"code:{group.code}")


def _of_diagnostics(diagnostics: Sequence[Diagnostic], rows: int, query: str) -> Doubt:
    """The doubt of diagnostics of one code."""
    worst = min((one.severity for one in diagnostics), key=SEVERITIES.index)
    return Doubt(
        rendering.title(diagnostics[0]),
        one_line(rendering.action(*diagnostics)),
        rows,
        query,
        "error" if worst == "error" else "warning",
        one_line(rendering.message(*diagnostics)),
        diagnostics[0].code,
    )


def _of_few_rounds(timed: Sequence[Series]) -> Iterator[Doubt]:
    few = [len(one.timed) for one in timed if len(one.timed) < LEAST_ROUNDS]
    if few:
        diagnostics = [diagnostic("few_rounds", rounds=rounds) for rounds in few]
        yield _of_diagnostics(diagnostics, len(few), f"{_TIMED} rounds<{LEAST_ROUNDS}")


def _of_hosts(
    environments: Mapping[str, Mapping[str, Any]], timed: Sequence[Series]
) -> Iterator[Doubt]:
    """What is to be doubted of machines, each time of the rows of those that it holds for."""
    measured = {str(one.row.get("host")) for one in timed}
    hosts = {name: of for name, of in environments.items() if name in measured} or environments
    virtual = [name for name, host in hosts.items() if host.get("virtual_machine")]
    yield from _of_those("virtual_machine", virtual, hosts, timed)
    unknown = [name for name, host in hosts.items() if host.get("governor") is None]
    yield from _of_those("governor_unknown", unknown, hosts, timed)


def _of_those(
    code: str, those: Sequence[str], hosts: Collection[str], timed: Sequence[Series]
) -> Iterator[Doubt]:
    """One doubt where it holds for all hosts, else one for each."""
    if len(those) == len(hosts):
        if timed and those:
            diagnostics = [diagnostic(code, name) for name in those]
            yield _of_diagnostics(diagnostics, len(timed), _TIMED)
        return
    for name in those:
        rows = sum(one.row.get("host") == name for one in timed)
        if rows:
            query = f'{_TIMED} host="{name.replace(chr(34), "*")}"'
            yield _of_diagnostics([diagnostic(code, name)], rows, query)
