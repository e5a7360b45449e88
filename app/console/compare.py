"""`graphlap compare A B`: two run folders, case by case.

The exit code is 3 where something is slower and the caller asked to fail on that, 1 where a
case that the first run measured was not measured by the second, something damaged of either is
left out, or the caller asked to fail on what is slower and not every case of the first run was
judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from app.cases.errors import PlanError
from app.cases.imported import is_imported
from app.cases.judged import figures_judged
from app.console.damage import damage
from app.results.compare import RunSide, compare_runs, side_of
from app.results.measured import Measured
from app.results.past_variation import history_for
from app.results.run import Run
from app.results.verdicts import Comparison
from app.results.verify import Whole, read_whole
from exporters.invalid_value import InvalidValue


def compare(
    first: str, second: str, *, band: float, past: str | None = None, judge: Sequence[str] = ()
) -> Comparison:
    """The verdicts on two run folders; ResultsError for a folder that is none.

    `past` is a folder of earlier runs of the machine; without one, those beside the two are read.
    `judge` are the figures to judge, as `--metrics` names them; PlanError for one that neither run
    has, and for two runs without a common case.
    """
    paths = [Path(first), Path(second)]
    whole = [read_whole(path) for path in paths]
    one, other = (side_of(each.run) for each in whole)
    history = history_for(paths, _undamaged(whole, (one, other)), Path(past) if past else None)
    compared = compare_runs(one, other, band, history, _figures(judge, other))
    found = replace(compared, damaged=damage(whole))
    if not found.cases and not any(each.lost for each in found.not_compared):
        _refuse_imported(one, other)
    if not found.cases and not found.not_compared and not found.damaged:
        raise PlanError(
            f"{first} and {second} have no case in common",
            "compare runs of the same models, runtimes and settings",
        )
    return found


def _undamaged(
    whole: Sequence[Whole], sides: Sequence[RunSide]
) -> list[tuple[Run, Sequence[Measured]]]:
    """The runs with their cases; one of which something is damaged is read as a past run is."""
    read = zip(whole, sides, strict=True)
    return [(each.run, side.cases) for each, side in read if not each.left_out]


def _figures(judge: Sequence[str], side: RunSide) -> tuple[str, ...]:
    try:
        return figures_judged(tuple(judge), side.percentiles)
    except InvalidValue as error:
        raise PlanError(f"--{error.cause}", error.remedy) from None


def _refuse_imported(one: RunSide, other: RunSide) -> None:
    """What other programs measured is compared only with what the same program did, by samples."""
    runtimes = {c.case.runtime for c in (*one.cases, *other.cases) if is_imported(c.case.runtime)}
    if not runtimes:
        return
    named = ", ".join(sorted(runtimes))
    if {c.case.identity_id for c in one.cases} & {c.case.identity_id for c in other.cases}:
        raise PlanError(
            f"of {named} only figures are known and no single timings, which no verdict can be "
            "made of",
            "set the two tables beside each other",
        )
    raise PlanError(
        f"{one.name} and {other.name} have no case in common: {named} was measured on a clock and "
        "within a boundary of its own",
        "compare it with rows imported from the same program's file of the same model",
    )
