"""Whether the newest run of a history can be judged by those before it, and why if it can't."""

from __future__ import annotations

from collections.abc import Iterator

from app.results.history import History, is_well
from app.results.hosts import identity_of
from app.results.journal import FOLDER as JOURNAL
from app.results.past_runs import PastRun
from app.results.verdicts import OTHER_CLOCK, NotCompared
from app.results.verify import read_whole
from app.stats.changes import LEAST_RUNS

DAMAGED, NOT_PLANNED = "damaged", "no_longer_planned"
OTHER_HOST, TOO_FEW_RUNS = "other_host", "too_few_runs"
"""Reasons, beside the statuses of rows and `OTHER_CLOCK`."""


def not_judged(found: History) -> tuple[NotCompared, ...]:
    """What is damaged of the newest run, its cases that were measured before and can't be judged
    now, and one for all if no series is long enough; its samples are read."""
    newest = found.runs[-1]
    return (
        *_damaged(found, newest),
        *_broken(found, newest),
        *_no_longer_planned(found, newest),
        *_without_series(found, newest),
    )


def _damaged(found: History, newest: PastRun) -> Iterator[NotCompared]:
    """Of a run that can't be dated nobody knows that it is not the newest."""
    for one in found.passed_over:
        date = one.created_at_utc
        if one.damaged and (date is None or date >= newest.created_at_utc):
            yield NotCompared("", "", DAMAGED, one.why)
    whole = read_whole(newest.path)
    for sentence in whole.left_out:
        yield NotCompared("", "", DAMAGED, f"{newest.path}: {sentence}")
    gone = [case for case, row in newest.cases if is_well(row) and not whole.run.rounds_of(case)]
    if gone:
        table = whole.run.manifest.full_table
        why = f"{table} has {len(gone)} cases of which no round is left: restore {JOURNAL}"
        yield NotCompared("", "", DAMAGED, f"{newest.path}: {why}")


def _broken(found: History, newest: PastRun) -> Iterator[NotCompared]:
    labels, clocks = dict[str, str](), dict[str, set[str]]()
    for trend in found.trends:
        if any(point.run is not newest for point in trend.points):
            labels[trend.case_id] = trend.label
            clocks.setdefault(trend.case_id, set()).add(trend.clock)
    for case, row in newest.cases:
        case_id, clock = identity_of(case), str(row["clock"] or "")
        if case_id not in labels:
            continue
        if not is_well(row):
            why = f"{row['status']} in {newest.path}: {row['reason'] or 'not valid'}"
            reason = str(row["status"]) if row["status"] != "ok" else "not_valid"
            yield NotCompared(case_id, labels[case_id], reason, why)
        elif clock not in clocks[case_id]:
            before = ", ".join(sorted(clocks[case_id]))
            why = f"the clock was {before}, and is {clock} in {newest.path}"
            yield NotCompared(case_id, labels[case_id], OTHER_CLOCK, why)


def _no_longer_planned(found: History, newest: PastRun) -> Iterator[NotCompared]:
    """What the run before it measured and it has no case of, if they have others in common: the
    one before of the same plan's name."""
    here = {identity_of(case) for case, _ in newest.cases}
    labels = {trend.case_id: trend.label for trend in found.trends}
    for before in reversed([run for run in found.runs[:-1] if run.name == newest.name]):
        well = [identity_of(case) for case, row in before.cases if is_well(row)]
        if here.intersection(well):
            why = f"in {before.path}, and not in {newest.path}"
            gone = [one for one in dict.fromkeys(well) if one not in here and one in labels]
            yield from (NotCompared(one, labels[one], NOT_PLANNED, why) for one in gone)
            return


def _without_series(found: History, newest: PastRun) -> Iterator[NotCompared]:
    """Where no series with the newest run has runs enough."""
    long = [trend for trend in found.trends if len(trend.points) >= LEAST_RUNS]
    own = [trend for trend in found.trends if trend.points[-1].run is newest]
    if any(trend in long for trend in own):
        return
    known = {(trend.case_id, trend.clock) for trend in long}
    if any((trend.case_id, trend.clock) in known for trend in own):
        why = (
            f"{newest.path} is of another machine than the runs before it: --any-host takes the "
            "runs of all machines for one series"
        )
        yield NotCompared("", "", OTHER_HOST, why)
    else:
        why = f"no series with {newest.path} has the {LEAST_RUNS} runs that a change takes"
        yield NotCompared("", "", TOO_FEW_RUNS, why)
