"""What comparisons of cases with themselves came to: lines for people, `aa.csv`, JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from app.results.itself import ALL, ComparedWithItself, Itself
from app.results.table import to_csv

FILE = "aa.csv"


def as_lines(found: ComparedWithItself) -> Iterator[str]:
    """A line for each case, and one for all of them."""
    by_case: dict[str, list[Itself]] = {}
    for one in found.cases:
        by_case.setdefault(one.label, []).append(one)
    for label, own in by_case.items():
        yield f"{label}: {'; '.join(map(_told, own))}"
    complete = found.together[0].comparisons
    if complete < found.total:
        yield f"{complete} of {found.total} comparisons have all their rounds: resume the run"
    if by_case:
        yield f"all cases: {'; '.join(map(_told, found.together))}"
        yield (
            "wrong: a verdict of faster or slower, all verdicts of a comparison judged together; "
            f"a change within {100 * found.band:g}% does not count"
        )


def as_csv(found: ComparedWithItself) -> str:
    """A row for each case and percentile, then for all cases; shares are between 0 and 1."""
    rows = [_values(one, found.rounds) for one in (*found.cases, *found.together)]
    return to_csv(rows, list(rows[0])).decode()


def as_json(found: ComparedWithItself) -> dict[str, Any]:
    """Stable keys: what is added later is a new key."""
    return {
        "format": "graphlap-aa",
        "version": 1,
        "rounds": found.rounds,
        "comparisons_asked": found.total,
        "band": found.band,
        "cases": [_values(one, found.rounds) for one in found.cases],
        "together": [_values(one, found.rounds) for one in found.together],
    }


def _values(one: Itself, rounds: int) -> dict[str, Any]:
    return {
        "case_id": one.case_id,
        "case": one.label,
        "percentile": one.percentile,
        "comparisons": one.comparisons,
        "wrong": one.wrong,
        "wrong_share_ci_low": one.share.low,
        "wrong_share_ci_high": one.share.high,
        "rounds": rounds,
        "smallest_change": one.smallest_change,
    }


def _told(one: Itself) -> str:
    name = "any" if one.percentile == ALL else one.percentile
    share = f"{100 * one.share.low:.2g} to {100 * one.share.high:.2g}%"
    wrong = f"{name} wrong in {one.wrong} of {one.comparisons} ({share})"
    if one.smallest_change is None or one.percentile == ALL:
        return wrong
    return f"{wrong}, would find a change of {one.smallest_change:.1%}"
