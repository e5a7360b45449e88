"""What rounds recorded of the machine: slow runs that it explains say nothing of a model."""

from __future__ import annotations

import re

from app.results import text
from app.results.interference import STEAL_SHARE, SWITCHES_PER_S
from app.results.noticing.facts import Fact

_MOST = 0.5
_COUNT = re.compile(r"([a-z ]+) (\d+)")
_UNSEEN = "unseen"


def disturbance(one: Fact, per_s: float = 0.0) -> str:
    """What had the core in the meantime, "" where nothing did that could explain slow runs.

    `per_s` is how often something slow came: as many switches as half of that explain it.
    """
    found = []
    steal = one.number("steal_fraction") or 0.0
    if steal >= STEAL_SHARE:
        found.append(f"a hypervisor had the core for {text.share(steal)} of the time")
    switches = one.number("involuntary_switches_per_s") or 0.0
    if switches >= max(SWITCHES_PER_S, _MOST * per_s):
        found.append(f"other threads took the core {text.significant(switches, 2)} times a second")
    if not found and (cause := _main_cause(str(one.row.get("outlier_causes") or ""))):
        found.append(f"most slow runs had a cause in the machine ({cause})")
    return " and ".join(found)


def _main_cause(outliers_by: str) -> str:
    """The most frequent cause, where at least half of the outliers have one; "" otherwise."""
    counts = {cause.strip(): int(count) for cause, count in _COUNT.findall(outliers_by)}
    known = {cause: count for cause, count in counts.items() if cause != _UNSEEN}
    if not known or sum(known.values()) < _MOST * sum(counts.values()):
        return ""
    return max(known, key=lambda cause: known[cause])
