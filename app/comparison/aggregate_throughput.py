"""Aggregate throughput: what several machines serve together, for cases measured on several.

Machines share neither cores nor memory, so each serves as much beside the others as alone, and
work that is dealt out in proportion to their rates is done everywhere at the same moment. What
deals it out, and the network between, is not in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.cases.case import Case
from app.cases.column import Row, number_of
from app.comparison.measured_case import Measured
from app.machine.environment import MACHINE
from app.run_folder.run import Run
from app.run_folder.table import to_csv
from app.stats.intervals import LEAST_ROUNDS
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
class HostsTogether:
    """A case on several machines: `parts` are those that serve it, the fastest first.

    `case` is that of the fastest, `without` says of a host why it is not among the parts. Where
    `absent` says why there is no sum, the parts are what was measured.
    """

    case: Case
    parts: tuple[Measured, ...]
    hosts: tuple[str, ...]
    interval: Interval | None = None
    without: tuple[str, ...] = ()
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


def hosts_together(run: Run, measured: Sequence[Measured]) -> tuple[HostsTogether, ...]:
    """Each case that was timed on two hosts or more, in the plan's order."""
    groups: dict[str, list[Measured]] = {}
    for one in measured:
        if not one.case.host:  # it is on the one host that the run is of
            continue
        anywhere = replace(one.case, host="", naming=2)
        groups.setdefault(anywhere.identity_id, []).append(one)
    found = (_of_group(run, group) for group in groups.values() if len(group) > 1)
    return tuple(one for one in found if one is not None)


def hosts_csv(found: Sequence[HostsTogether]) -> bytes:
    """A line for each host of each case, then one for all of them, whose `host` is empty."""
    return to_csv([row for one in found for row in _rows(one)], _COLUMNS)


def _of_group(run: Run, group: Sequence[Measured]) -> HostsTogether | None:
    well = [one for one in group if one.is_well and one.row["throughput_per_s"]]
    if len({run.host_of(one.case) for one in well}) < 2:
        return None  # of one that is not there its row says why
    parts = sorted(well, key=_rate, reverse=True)
    hosts = tuple(run.host_of(one.case) for one in parts)
    without = tuple(f"{run.host_of(one.case)} is {_word(one)}" for one in group if one not in well)
    together = HostsTogether(parts[0].case, tuple(parts), hosts, None, without)
    if why := _why_not(run, parts):
        return replace(together, absent=why)
    known = [ends for one in parts if (ends := _interval(one)) is not None]
    if len(known) < len(parts):
        return together
    return replace(together, interval=interval_of_sum(together.rates, known))


def _interval(one: Measured) -> Interval | None:
    """That of the row, where it counts how much rounds differ."""
    low, high = (number_of(one.row[f"throughput_ci_{end}_per_s"]) for end in ("low", "high"))
    if low is None or high is None or len(one.rounds) < LEAST_ROUNDS:
        return None
    return Interval(low, high)


def _why_not(run: Run, parts: Sequence[Measured]) -> str:
    """Why these are not added, '' if they can be."""
    clocks = {run.host_of(one.case): str(one.row["clock"]) for one in parts}
    if len(set(clocks.values())) > 1:
        return ", ".join(f"the clock of {host} is {clock}" for host, clock in clocks.items())
    for one in parts:
        if why := _CLOCKS.get(str(one.row["clock"])):
            return why
    for one in parts:
        if len({writer.host for writer in run.writers.get(one.case.case_id, {}).values()}) > 1:
            return f"rounds of {run.host_of(one.case)} are of another machine too"
    for number, one in enumerate(parts):
        for other in parts[:number]:
            if why := _one_machine(run, other.case, one.case):
                return why
    return ""


def _one_machine(run: Run, first: Case, second: Case) -> str:
    """Why two hosts are taken for one machine, '' for two.

    Of a run all hosts are up at once, and the running kernel, or the name that a worker was given,
    tells them apart. Of runs that were merged a machine may have been started again in between: it
    then has another kernel, and its own name and processor.
    """
    a, b = run.environment_of(first), run.environment_of(second)
    names = f"{run.host_of(first)} and {run.host_of(second)}"
    known = a.get(MACHINE), b.get(MACHINE)
    if all(known) and known[0] == known[1]:
        return f"{names} are one machine, and took turns on it"
    if all(known) and run.planned(first).run_id == run.planned(second).run_id:
        return ""
    if _hardware(a) == _hardware(b):
        return f"{names} are {a.get('host')} both and alike: they may be one machine"
    return ""


def _hardware(environment: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(map(environment.get, _HARDWARE))


def _word(one: Measured) -> str:
    """Why a host has no part in it."""
    if one.is_well:
        return "without inputs in a second"
    status = str(one.row["status"]).replace("_", " ")
    return status if status != "ok" else "not valid"


def _rate(one: Measured) -> float:
    return number_of(one.row["throughput_per_s"]) or 0.0


def _rows(found: HostsTogether) -> Iterator[Row]:
    for host, one in zip(found.hosts, found.parts, strict=True):
        yield {
            "case_id": one.case.case_id,
            "model": one.case.model,
            "runtime": one.case.runtime,
            "host": host,
            "machines": 1,
            **{name: one.row[name] for name in _THROUGHPUT},
            "share": None if found.absent else _rate(one) / found.per_s,
            "million_inputs_s": MANY / _rate(one),
        }
    told = {"model": found.case.model, "runtime": found.case.runtime}
    if found.absent:
        yield {**told, "absent": found.absent}
        return
    yield {
        **told,
        "machines": len(found.parts),
        "throughput_per_s": found.per_s,
        "throughput_ci_low_per_s": found.interval.low if found.interval else None,
        "throughput_ci_high_per_s": found.interval.high if found.interval else None,
        "share": 1.0,
        "speedup": found.speedup,
        "efficiency": found.efficiency,
        "million_inputs_s": found.seconds_for(MANY),
        "absent": "; ".join(found.without) or None,
    }
