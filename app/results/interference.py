"""What came between the runs of a case: its columns, and whose fault the slow runs were.

Takes the recorded rounds that were timed and their samples; a figure that no round could read is
left empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from app.cases.column import Row
from app.cases.interference import Interference
from app.cases.round import RoundResult
from app.stats.outliers import CAUSES, UNSEEN, outlier_causes
from exporters.diagnostics.catalogue import diagnostic
from exporters.diagnostics.diagnostic import Diagnostic
from runtimes.execution import Samples

SAID_SHARE = 0.001
"""Where a cause had a hand in more of the runs it reaches a p99.9, and is warned of."""
STEAL_SHARE = 0.01
SWITCHES_PER_S = 10.0
"""An idle machine takes a core from its one busy thread a few times a second."""
_CODES = {
    "steal": "outliers_from_steal",
    "switch": "outliers_from_context_switches",
    "page fault": "outliers_from_page_faults",
    "interrupts": "outliers_from_interrupts",
    "clock": "outliers_from_low_clock",
}


def outlier_counts(
    rounds: Sequence[RoundResult], samples: Sequence[Samples]
) -> Counter[str] | None:
    """How many outliers of all rounds have which cause; None where none was looked for."""
    watched = [
        outlier_causes(timed, result.interference.disturbances)
        for result, timed in zip(rounds, samples, strict=True)
        if result.interference is not None
    ]
    return sum(watched, Counter[str]()) if watched else None


def interference_columns(rounds: Sequence[RoundResult], counts: Counter[str] | None) -> Row:
    """Rates over the rounds together, the extremes of clock and temperature."""
    told = [result.interference for result in rounds if result.interference is not None]
    loads = [result.environment.get("load_1min") for result in rounds]
    values: Row = {"load_1min": max((load for load in loads if load is not None), default=None)}
    if not told:
        return values
    return values | {
        "steal_fraction": _steal_share(told),
        "involuntary_switches_per_s": _rate((i.involuntary_switches, i) for i in told),
        "page_faults_per_s": _rate((_faults(i), i) for i in told),
        "interrupts_per_s": _rate((i.interrupts, i) for i in told),
        "cpu_clock_min_mhz": min(_known(i.cpu_mhz_min for i in told), default=None),
        "cpu_clock_max_mhz": max(_known(i.cpu_mhz_max for i in told), default=None),
        "cpu_temperature_c": max(_known(i.temperature_c for i in told), default=None),
        "outlier_causes": None if not counts else _by(counts),
    }


def is_contended(rounds: Sequence[RoundResult]) -> bool:
    """Whether other work took the core, over all rounds together; False where nobody looked."""
    told = [result.interference for result in rounds if result.interference is not None]
    switches = _rate((i.involuntary_switches, i) for i in told)
    return (_steal_share(told) or 0.0) >= STEAL_SHARE or (switches or 0.0) >= SWITCHES_PER_S


def outlier_warnings(counts: Counter[str] | None, iterations: int) -> list[Diagnostic]:
    """The cause that most of the outliers have, if they are not very few."""
    seen = [] if counts is None else [(counts[cause], cause) for cause in CAUSES]
    most, cause = max(seen, default=(0, ""), key=lambda pair: pair[0])
    if counts is None or most <= SAID_SHARE * iterations:
        return []
    return [diagnostic(_CODES[cause], outliers=most, all=counts.total())]


def _by(counts: Counter[str]) -> str:
    """`switch 12, steal 3, unseen 25`."""
    ordered = sorted((*CAUSES, UNSEEN), key=lambda cause: (cause == UNSEEN, -counts[cause]))
    return ", ".join(f"{cause} {counts[cause]}" for cause in ordered if counts[cause])


def _steal_share(told: Sequence[Interference]) -> float | None:
    known = [i for i in told if i.steal_share is not None]
    stolen_s = sum((i.steal_share or 0.0) * i.seconds for i in known)
    return stolen_s / sum(i.seconds for i in known) if known else None


def _faults(told: Interference) -> int | None:
    if told.minor_faults is None or told.major_faults is None:
        return None
    return told.minor_faults + told.major_faults


def _rate(counted: Iterable[tuple[int | None, Interference]]) -> float | None:
    """Of those that were counted, in a second."""
    known = [(count, told.seconds) for count, told in counted if count is not None]
    return sum(count for count, _ in known) / sum(s for _, s in known) if known else None


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
