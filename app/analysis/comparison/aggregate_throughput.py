"""Aggregate throughput: what several machines serve together, for cases measured on several.

Machines share neither cores nor memory, so each serves as much beside the others as alone, and
work that is dealt out in proportion to their rates is done everywhere at the same moment. What
deals it out, and the network between, is not in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.analysis.comparison.measured_case import MeasuredCase
from app.cases.case import Case
from app.cases.column import Row, number_of
from app.machine.environment import MACHINE
from app.run_folder.run import Run
from app.run_folder.table import to_csv
from app.stats.quantiles import Interval
from app.stats.summary import interval_of_sum

HOSTS = "hosts.csv"
MANY = 1_000_000
"""So many inputs are the fixed work whose time is told."""
_HARDWARE = ("host", "cpu", "cores_logical", "cores_physical", "memory_bytes")
_CLOCKS = {
    "simulated": "a simulated clock is no machine's",
    "imported": "another program's clock is not known to be one",
}
_THROUGHPUT = ("throughput_per_s", "throughput_ci_low_per_s", "throughput_ci_high_per_s")
_COLUMNS = (
    "case_id",
    "model",
    "runtime",
    "host",
    "machines",
    *_THROUGHPUT,
    "share",
    "speedup",
    "efficiency",
    "million_inputs_s",
    "absent",
)


@dataclass(frozen=True, slots=True)
class AggregateThroughput:
    """A case on several machines: `parts` are those that serve it, the fastest first.

    `case` is that of the fastest, `without` says of a host why it is not among the parts. Where
    `absent` says why there is no sum, the parts are what was measured.
    """

    case: Case
    parts: tuple[MeasuredCase, ...]
    hosts: tuple[str, ...]
    interval: Interval | None = None
    exclusions: tuple[str, ...] = ()
    absent: str = ""

    @property
    def rates(self) -> tuple[float, ...]:
        """Inputs in a second of each part."""
        return tuple(map(_rate, self.parts))

    @property
    def per_s(self) -> float:
        """Inputs in a second of all parts."""
        return sum(self.rates)

    @property
    def shares(self) -> tuple[float, ...]:
        """The part of the work that each is dealt, so that all are done at the same moment."""
        return tuple(rate / self.per_s for rate in self.rates)

    @property
    def speedup(self) -> float:
        """Over the fastest alone."""
        return self.per_s / max(self.rates)

    @property
    def efficiency(self) -> float:
        """Of as many machines as the fastest: 1 where all are as fast."""
        return self.speedup / len(self.parts)

    def seconds_for(self, inputs: int) -> float:
        """How long so many inputs take, dealt out in proportion."""
        return inputs / self.per_s


def throughput_over_hosts(
    run: Run, measurements: Sequence[MeasuredCase]
) -> tuple[AggregateThroughput, ...]:
    """Each case that was timed on two hosts or more, in the plan's order."""
    groups: dict[str, list[MeasuredCase]] = {}
    for item in measurements:
        hostless_case = replace(item.case, host="")
        groups.setdefault(hostless_case.case_id, []).append(item)
    aggregates = (_aggregate(run, group) for group in groups.values() if len(group) > 1)
    return tuple(item for item in aggregates if item is not None)


def hosts_csv(aggregates: Sequence[AggregateThroughput]) -> bytes:
    """A line for each host of each case, then one for all of them, whose `host` is empty."""
    return to_csv([row for aggregate in aggregates for row in _rows(aggregate)], _COLUMNS)


def _aggregate(run: Run, group: Sequence[MeasuredCase]) -> AggregateThroughput | None:
    usable = [part for part in group if part.is_well and part.row["throughput_per_s"]]
    if len({run.host_of(part.case) for part in usable}) < 2:
        return None  # of one that is not there its row says why
    parts = sorted(usable, key=_rate, reverse=True)
    hosts = tuple(run.host_of(part.case) for part in parts)
    exclusions = tuple(
        f"{run.host_of(part.case)} is {_exclusion(part)}" for part in group if part not in usable
    )
    aggregate = AggregateThroughput(parts[0].case, tuple(parts), hosts, None, exclusions)
    if reason := _obstacle(run, parts):
        return replace(aggregate, absent=reason)
    intervals = [ends for part in parts if (ends := _interval(part)) is not None]
    if len(intervals) < len(parts):
        return aggregate
    return replace(aggregate, interval=interval_of_sum(aggregate.rates, intervals))


def _interval(part: MeasuredCase) -> Interval | None:
    """That of the row, where it counts how much rounds differ."""
    low, high = (number_of(part.row[f"throughput_ci_{end}_per_s"]) for end in ("low", "high"))
    if low is None or high is None:
        return None
    return Interval(low, high)


def _obstacle(run: Run, parts: Sequence[MeasuredCase]) -> str:
    """Why these are not added, '' if they can be."""
    clocks = {run.host_of(part.case): str(part.row["clock"]) for part in parts}
    if len(set(clocks.values())) > 1:
        return ", ".join(f"the clock of {host} is {clock}" for host, clock in clocks.items())
    for part in parts:
        if reason := _CLOCKS.get(str(part.row["clock"])):
            return reason
    for part in parts:
        if len({writer.host for writer in run.writers.get(part.case.case_id, {}).values()}) > 1:
            return f"rounds of {run.host_of(part.case)} are of another machine too"
    for number, part in enumerate(parts):
        for earlier in parts[:number]:
            if reason := _same_machine_reason(run, earlier.case, part.case):
                return reason
    return ""


def _same_machine_reason(run: Run, first: Case, second: Case) -> str:
    """Why two hosts are taken for one machine, '' for two.

    Of a run all hosts are up at once, and the running kernel, or the name that a worker was given,
    tells them apart. Of runs that were merged a machine may have been started again in between: it
    then has another kernel, and its own name and processor.
    """
    a, b = run.environment_of(first), run.environment_of(second)
    names = f"{run.host_of(first)} and {run.host_of(second)}"
    machine_ids = a.get(MACHINE), b.get(MACHINE)
    if all(machine_ids) and machine_ids[0] == machine_ids[1]:
        return f"{names} are one machine, and took turns on it"
    if all(machine_ids) and run.planned(first).run_id == run.planned(second).run_id:
        return ""
    if _hardware(a) == _hardware(b):
        return f"{names} are {a.get('host')} both and alike: they may be one machine"
    return ""


def _hardware(environment: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(map(environment.get, _HARDWARE))


def _exclusion(part: MeasuredCase) -> str:
    """Why a host has no part in it."""
    if part.is_well:
        return "without inputs in a second"
    status = str(part.row["status"]).replace("_", " ")
    return status if status != "ok" else "not valid"


def _rate(part: MeasuredCase) -> float:
    return number_of(part.row["throughput_per_s"]) or 0.0


def _rows(aggregate: AggregateThroughput) -> Iterator[Row]:
    for host, part in zip(aggregate.hosts, aggregate.parts, strict=True):
        yield {
            "case_id": part.case.case_id,
            "model": part.case.model,
            "runtime": part.case.runtime,
            "host": host,
            "machines": 1,
            **{name: part.row[name] for name in _THROUGHPUT},
            "share": None if aggregate.absent else _rate(part) / aggregate.per_s,
            "million_inputs_s": MANY / _rate(part),
        }
    labels = {"model": aggregate.case.model, "runtime": aggregate.case.runtime}
    if aggregate.absent:
        yield {**labels, "absent": aggregate.absent}
        return
    yield {
        **labels,
        "machines": len(aggregate.parts),
        "throughput_per_s": aggregate.per_s,
        "throughput_ci_low_per_s": aggregate.interval.low if aggregate.interval else None,
        "throughput_ci_high_per_s": aggregate.interval.high if aggregate.interval else None,
        "share": 1.0,
        "speedup": aggregate.speedup,
        "efficiency": aggregate.efficiency,
        "million_inputs_s": aggregate.seconds_for(MANY),
        "absent": "; ".join(aggregate.exclusions) or None,
    }
