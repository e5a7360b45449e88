"""The quality of a run: issues of its rows and of all of it, each cause once, with actions.

Rows that are not valid are grouped by the codes of their errors, others by status and reason.

Each issue names its rows by a filter of the results table (`app/gui/tables/columns.py`), which
finds those rows and no others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.analysis.plot_data.series import Series, is_not_valid
from app.cases.column import Row
from app.cases.status import FAILED, INCOMPLETE, STATUSES, WELL, Tone
from app.formatting.text import one_line
from app.run_folder.diagnostics import diagnostics_of, text
from app.run_folder.files import Problem
from app.stats.intervals import MINIMUM_ROUNDS
from exporters import diagnostics as rendering
from exporters.diagnostics import SEVERITIES, Diagnostic, codes, diagnostic, grouped

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
    return [entry for entry in diagnostics_of(row) if entry.severity == "error"]


def _reason(rows: Iterable[Row]) -> str:
    """The errors of these rows by their codes, with the ranges of their figures."""
    groups = grouped((str(row["case_id"]), _errors(row)) for row in rows)
    return " ".join(text(*group.diagnostics) for group in groups)


Quality = Literal["sound", "doubted", "failed"]
_TIMED_QUERY = "clock:wall rounds>0"
_ANYWHERE = "host:*"


@dataclass(frozen=True, slots=True)
class Issue:
    """What is wrong with so many `rows`: `what` in few words, `detail` with figures, and `remedy`,
    what to do about it; the last two may be empty.

    `query` is the filter that finds the rows, `code` that of a diagnostic.
    """

    title: str
    remedy: str
    rows: int
    query: str
    tone: Tone = "warning"
    detail: str = ""
    code: str = ""


def quality_of(series: Series) -> Quality:
    """As `row_quality`, also of a case that waits or is being measured."""
    return row_quality(series.row, series.status, bool(series.damage))


def row_quality(row: Mapping[str, Any], status: str, is_damaged: bool) -> Quality:
    """Whether a case's figures can be taken as they are, are doubted, or are of a failure; what is
    damaged is doubted."""
    if status in FAILED:
        return "failed"
    is_whole = status not in ("partial", "imported") and not (status == "ok" and is_not_valid(row))
    return "sound" if is_whole and not row.get("warnings") and not is_damaged else "doubted"


def is_invalid(series: Series) -> bool:
    """Whether a measurement that ended well broke its own protocol."""
    return series.status == "ok" and is_not_valid(series.row)


def issues_of(
    series: Sequence[Series],
    environments: Mapping[str, Mapping[str, Any]],
    is_over: bool,
    problems: Sequence[Problem] = (),
) -> list[Issue]:
    """Of a run's cases and of the hosts that measured them: what is `problems`, failures, warnings,
    then the machine.

    Before a run `is_over`, nothing is said of what it may still come to.
    """
    issues = [*_damage_issues(problems, len(series)), *_status_issues(series, is_over)]
    issues += _warning_issues(series)
    timed_series = [c for c in series if c.clock == "wall" and c.timed]
    if is_over:
        issues += _few_rounds_issues(timed_series)
    return [*issues, *_host_issues(environments, timed_series)]


def _damage_issues(problems: Sequence[Problem], rows: int) -> Iterator[Issue]:
    if problems:
        suffix = f", and {len(problems) - 1:,} more" * (len(problems) > 1)
        yield Issue(f"{problems[0].cause}{suffix}", problems[0].remedy, rows, _ANYWHERE, "error")


def _status_issues(series: Sequence[Series], is_over: bool) -> Iterator[Issue]:
    groups: dict[str, list[Series]] = {}
    for case_series in series:
        ending = case_series.status
        is_final = ending in STATUSES and (is_over or ending not in INCOMPLETE)
        if is_final and (ending not in WELL or is_invalid(case_series)):
            groups.setdefault(NOT_VALID if ending == "ok" else ending, []).append(case_series)
    for status, cases in groups.items():
        reasons = {str(case_series.row.get("reason") or "") for case_series in cases}
        remedy = reasons.pop() if len(reasons) == 1 else "see the column Reason"
        query = "status:ok valid:false" if status == NOT_VALID else f"status={status}"
        tone: Tone = "error" if status in FAILED else "warning"
        yield Issue(status.replace("_", " "), remedy, len(cases), query, tone)


def _warning_issues(series: Sequence[Series]) -> Iterator[Issue]:
    groups = grouped((case_series.key, diagnostics_of(case_series.row)) for case_series in series)
    for group in groups:
        yield _issue_of(group.diagnostics, len(group.case_ids), f"code:{group.code}")


def _issue_of(diagnostics: Sequence[Diagnostic], rows: int, query: str) -> Issue:
    """The doubt of diagnostics of one code."""
    worst = min((entry.severity for entry in diagnostics), key=SEVERITIES.index)
    return Issue(
        rendering.title(diagnostics[0]),
        one_line(rendering.action(*diagnostics)),
        rows,
        query,
        "error" if worst == "error" else "warning",
        one_line(rendering.message(*diagnostics)),
        diagnostics[0].code,
    )


def _few_rounds_issues(timed_series: Sequence[Series]) -> Iterator[Issue]:
    counts = [len(c.timed) for c in timed_series if len(c.timed) < MINIMUM_ROUNDS]
    if counts:
        diagnostics = [diagnostic("few_rounds", rounds=rounds) for rounds in counts]
        yield _issue_of(diagnostics, len(counts), f"{_TIMED_QUERY} rounds<{MINIMUM_ROUNDS}")


def _host_issues(
    environments: Mapping[str, Mapping[str, Any]], timed_series: Sequence[Series]
) -> Iterator[Issue]:
    """What is to be doubted of machines, each time of the rows of those that it holds for."""
    host_names = {str(case_series.row.get("host")) for case_series in timed_series}
    hosts = {n: e for n, e in environments.items() if n in host_names} or environments
    virtual = [name for name, host in hosts.items() if host.get("virtual_machine")]
    yield from _issues_per_host("virtual_machine", virtual, hosts, timed_series)
    unknown_hosts = [name for name, host in hosts.items() if host.get("governor") is None]
    yield from _issues_per_host("governor_unknown", unknown_hosts, hosts, timed_series)


def _issues_per_host(
    code: str, names: Sequence[str], hosts: Collection[str], timed_series: Sequence[Series]
) -> Iterator[Issue]:
    """One doubt where it holds for all hosts, else one for each."""
    if len(names) == len(hosts):
        if timed_series and names:
            diagnostics = [diagnostic(code, name) for name in names]
            yield _issue_of(diagnostics, len(timed_series), _TIMED_QUERY)
        return
    for name in names:
        rows = sum(case_series.row.get("host") == name for case_series in timed_series)
        if rows:
            query = f'{_TIMED_QUERY} host="{name.replace(chr(34), "*")}"'
            yield _issue_of([diagnostic(code, name)], rows, query)
