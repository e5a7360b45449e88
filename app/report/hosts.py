"""Figure of what several machines serve together, a bar for each case in parts by host."""

from __future__ import annotations

from collections.abc import Sequence

from app.console.hosts_together import names_of
from app.present.figure import Axis, Figure, Mark, Series
from app.results import text
from app.results.hosts_together import HostsTogether


def hosts(found: Sequence[HostsTogether]) -> Figure | None:
    """Inputs per second of each case that is added over hosts, a part of the bar for each; None
    without one."""
    added = [one for one in found if not one.absent]
    if not added:
        return None
    ends = [0.0] * len(added)
    series = []
    for number, host in enumerate(dict.fromkeys(h for one in added for h in one.hosts)):
        marks, ids = [], []
        for place, one in enumerate(added):
            if host not in one.hosts:
                continue
            at = one.hosts.index(host)
            start, ends[place] = ends[place], ends[place] + one.rates[at]
            described = f"{host}: {text.rate_text(one.rates[at])}"
            marks.append(Mark(ends[place], place, described, start=start))
            ids.append(one.parts[at].case.case_id)
        series.append(Series(host, tuple(marks), "bars", number, cases=tuple(ids)))
    bounded = tuple(
        Mark(
            one.per_s,
            place,
            f"together {text.rate_text(one.per_s)} "
            f"({text.rate_interval(one.interval.low, one.interval.high)})",
            one.interval.low,
            one.interval.high,
        )
        for place, one in enumerate(added)
        if one.interval
    )
    if bounded:
        series.append(Series("together, 95 % interval", bounded, color=6, symbol="diamond"))
    return Figure(
        "Throughput of all machines together",
        Axis("inputs per second", "per_s"),
        Axis(names=tuple(names_of(added))),
        tuple(series),
    )
