"""Two runs compared case by case, with a verdict for each percentile, all judged together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.cases.case import Case
from app.cases.columns import Row
from app.cases.percentiles import DEFAULT, name_of
from app.results.compare import differences
from app.results.labels import labels
from app.results.rows import Rows
from app.results.run import Run
from app.stats.summary import Summary
from app.stats.verdict import BAND, Difference, Verdict, difference, judge

PERCENTILES = ("p50", "p99")


@dataclass(frozen=True, slots=True)
class Sides:
    """One percentile of a case in both runs, in microseconds, and what is to be said of it."""

    first_us: float
    second_us: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Compared:
    """One case that both runs measured: its percentiles by name."""

    case_id: str
    label: str
    percentiles: Mapping[str, Sides]


@dataclass(frozen=True, slots=True)
class Comparison:
    """`lost` are cases that the first run measured and the second did not, with the reason.

    `only_first` and `only_second` were not asked of the other run. `environment` is what the two
    hosts do not share: name, first, second.
    """

    first: str
    second: str
    band: float
    cases: tuple[Compared, ...]
    lost: Mapping[str, str]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    environment: tuple[tuple[str, str, str], ...]

    def called(self, word: str) -> list[Compared]:
        """The cases of which some percentile got this verdict."""
        return [
            case
            for case in self.cases
            if any(sides.verdict.word == word for sides in case.percentiles.values())
        ]


@dataclass(frozen=True, slots=True)
class _Side:
    case: Case
    row: Row
    summary: Summary | None


def compare_runs(first: Run, second: Run, band: float = BAND) -> Comparison:
    """Cases are paired by what makes them, whichever schema named them; clocks are not mixed."""
    before, after = _sides(first), _sides(second)
    names = labels([side.case for side in before.values()])
    lost: dict[str, str] = {}
    found: list[tuple[str, str, float, float, int]] = []
    tested: list[Difference | None] = []
    for key, one in before.items():
        other = after.get(key)
        if other is None or one.summary is None:
            continue
        label = names[one.case.case_id]
        if other.summary is None:
            lost[label] = f"{other.row['status']}: {other.row['reason'] or 'not measured'}"
            continue
        if one.row["clock"] != other.row["clock"]:
            continue
        for name in _told_by_both(first, second):
            a, b = one.summary.figures[name], other.summary.figures[name]
            if a.value is not None and b.value is not None:
                found.append((key, name, a.value, b.value, len(tested)))
                tested.append(difference(a.by_round, b.by_round, in_turn=False))
    verdicts = judge(tested, band)
    by_case: dict[str, dict[str, Sides]] = {}
    for key, name, first_us, second_us, place in found:
        by_case.setdefault(key, {})[name] = Sides(first_us, second_us, verdicts[place])
    return Comparison(
        str(first.path),
        str(second.path),
        band,
        tuple(
            Compared(key, names[before[key].case.case_id], percentiles)
            for key, percentiles in by_case.items()
        ),
        lost,
        _absent(before, after),
        _absent(after, before),
        tuple(differences(first.manifest.environment, second.manifest.environment)),
    )


def _told_by_both(first: Run, second: Run) -> tuple[str, ...]:
    """The percentiles that both plans chose; p50 and p99 where neither chose any."""
    chosen = [run.manifest.asked.percentiles for run in (first, second)]
    if all(percentiles == DEFAULT for percentiles in chosen):
        return PERCENTILES
    return tuple(name_of(percentile) for percentile in chosen[0] if percentile in chosen[1])


def _sides(run: Run) -> dict[str, _Side]:
    rows = Rows()
    table = rows.of(run)
    return {
        case.identity_id: _Side(case, row, rows.summary(run, case))
        for case, row in zip(run.cases, table, strict=True)
    }


def _absent(sides: Mapping[str, _Side], others: Mapping[str, _Side]) -> tuple[str, ...]:
    cases: Sequence[Case] = [side.case for key, side in sides.items() if key not in others]
    names = labels(cases)
    return tuple(names[case.case_id] for case in cases)
