"""On what, when and how long a run measured: a line above every study's tables, the rest below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.cases.round import RoundResult
from app.cases.surroundings import others_ran
from app.present.document import Block, Column, Heading, Paragraph, Points, Table
from app.results import text
from app.studies.found import Found


def conditions(found: Found) -> Iterator[Block]:
    """How each case was measured, how busy the machine was, and a table of the runtimes."""
    yield Heading("How it was measured")
    if found.host:
        hosts = sorted({found.run.host_of(case) for case in found.run.cases})
        yield Paragraph(
            f"The run has {len(hosts)} hosts, {', '.join(hosts)}. The tables show {found.host}, "
            "except for the aggregate of all hosts."
        )
    yield Paragraph(_protocol(found))
    yield from _load(found)
    yield _runtimes(found)


def machines(found: Found) -> Iterator[Block]:
    """The date with the one machine, or a line for each of several."""
    manifest = found.run.manifest
    made = f"Measured {manifest.created_at_utc[:10]} with Graphlap {manifest.graphlap_version} on"
    cases = {found.run.host_of(one.case): one.case for one in found.measured}
    if found.host or len(cases) < 2:
        yield Paragraph(f"{made} {_machine(found.environment)}.")
        return
    environments = {host: found.run.environment_of(case) for host, case in cases.items()}
    yield Paragraph(f"{made} {len(cases)} machines:")
    yield Points(tuple(f"{host}: {_machine(own)}" for host, own in environments.items()))


def _machine(host: Mapping[str, Any]) -> str:
    where = [str(host.get("cpu") or "an unknown processor")]
    if host.get("cores_usable"):
        of = "of a virtual machine" if host.get("virtual_machine") else "to use"
        where.append(f"{host['cores_usable']} cores {of}")
    if host.get("memory_bytes"):
        where.append(f"{host['memory_bytes'] / 2**30:.1f} GiB")
    where += [str(gpu.get("name", "a GPU")) for gpu in (host.get("gpus") or {}).values()]
    if host.get("python"):
        where.append(f"Python {host['python']}")
    return ", ".join(where)


def _protocol(found: Found) -> str:
    manifest = found.run.manifest
    limits = manifest.limits
    count = "set by its search" if manifest.asked.is_search else f"{manifest.rounds}"
    return (
        f"Rounds for each case: {count}. Each round is a separate process that measures "
        f"{limits.min_s:g} to {limits.max_s:g} s. The rounds of all cases are in random order "
        f"(seed {manifest.seed})."
    )


def _load(found: Found) -> Iterator[Paragraph]:
    """How busy the machine was; nothing where that is not known."""
    loads = [load for one in _rounds(found) if (load := one.environment.get("load_1min"))]
    if not loads:
        return
    cores = found.environment.get("cores_usable") or 1
    on = f"{cores} core{'s' * (cores != 1)}"
    load = f"a load of {min(loads):.1f} to {max(loads):.1f} on {on} when rounds began"
    if others_ran(max(loads), cores):
        yield Paragraph(
            f"Loaded: other work shared the machine, {load}. Measured times are longer than on a "
            "quiet machine; simulated times are not affected."
        )
    else:
        yield Paragraph(f"The machine had {load}.")


def _rounds(found: Found) -> Iterator[RoundResult]:
    return (result for one in found.measured for result in found.run.rounds_of(one.case))


def _runtimes(found: Found) -> Table:
    """A line for each runtime: what it is, what timed it, and how many of its cases are well."""
    rows = []
    for name in dict.fromkeys(one.case.runtime for one in found.measured):
        own = [one for one in found.measured if one.case.runtime == name]
        versions = dict.fromkeys(str(v) for one in own if (v := one.row["runtime_version"]))
        clocks = dict.fromkeys(str(v) for one in own if (v := one.row["clock"]))
        ends = dict.fromkeys(str(v) for one in own if (v := one.row["boundary"]))
        rows.append(
            (
                name,
                ", ".join(versions),
                ", ".join(text.CLOCK_TEXT.get(clock, clock) for clock in clocks),
                ", ".join(f"{end} memory" for end in ends),
                f"{sum(one.is_well for one in own)} of {len(own)}",
            )
        )
    names = ("runtime", "version", "timed by", "complete in")
    columns = (*(Column(name, is_name=True) for name in names), Column("cases measured"))
    return Table(columns, tuple(rows))
