"""The page of a study: conditions, tables, missing cases; printed and written to the run folder."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from app.cases.case import Case
from app.cases.errors import unwritable
from app.cases.round import RoundResult
from app.cases.status import INCOMPLETE, TERMINAL
from app.cases.telemetry import has_other_load
from app.columns.status import MISSING
from app.console.run_summary import failure_causes, warning_texts
from app.console.streams import ResilientStream, width_of
from app.formatting import text
from app.formatting.case_labels import CaseSet, differences, model_labels
from app.formatting.text import printable
from app.machine.installed_runtimes import clock_of
from app.plan.plan import Plan
from app.plan.studies import CHANGEABLE, load_study
from app.present.document import (
    Block,
    Column,
    Command,
    Heading,
    Paragraph,
    Picture,
    Points,
    Table,
    nest,
)
from app.present.markdown import as_markdown
from app.present.terminal import write_document
from app.run_folder.diagnostics import warning_groups
from app.run_folder.files import write_atomically
from app.run_folder.run import Run
from app.studies.study import Found, Study, Whole


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
    count = "set by its search" if manifest.requested_plan.is_search else f"{manifest.rounds}"
    return (
        f"Rounds for each case: {count}. Each round is a separate process that measures "
        f"{limits.min_s:g} to {limits.max_s:g} s. The rounds of all cases are in random order "
        f"(seed {manifest.seed})."
    )


def _load(found: Found) -> Iterator[Paragraph]:
    """How busy the machine was; nothing where that is not known."""
    loads = [number for one in _rounds(found) if (number := one.environment.get("load_1min"))]
    if not loads:
        return
    cores = found.environment.get("cores_usable") or 1
    on = f"{cores} core{'s' * (cores != 1)}"
    load_text = f"a load of {min(loads):.1f} to {max(loads):.1f} on {on} when rounds began"
    if has_other_load(max(loads), cores):
        yield Paragraph(
            f"Loaded: other work shared the machine, {load_text}. Measured times are longer than "
            "on a quiet machine; simulated times are not affected."
        )
    else:
        yield Paragraph(f"The machine had {load_text}.")


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


def missing(found: Found, whole: Plan) -> Iterator[Block]:
    """`whole` is the study's own plan."""
    yield Heading("Not measured")
    lacking = tuple(_lacking(found, whole))
    if lacking:
        yield Points(lacking)
    elif whole.tune:
        yield Paragraph("The text below the table of the search lists what it did not measure.")
    else:
        yield Paragraph("Nothing: every case of the study has all its rounds or ended.")
    together = CaseSet([one.case for one in found.measured])
    rows = [one.row for one in found.measured if one.row["status"] not in INCOMPLETE]
    if causes := failure_causes(rows, together):
        yield Heading("Failures")
        yield Points(tuple(f"{c.status.replace('_', ' ')}, {c.sentence}" for c in causes))
    groups = [group for group in warning_groups(rows) if group.code != MISSING]
    if groups:
        yield Heading("Warnings")
        yield Points(warning_texts(groups, together))


def _lacking(found: Found, whole: Plan) -> Iterator[str]:
    yield from found.damaged
    cases = [one.case for one in found.measured]
    absent = "; ".join(_absent(cases, whole))
    if absent:
        yield f"not part of this run: {absent}"
    if found.others:
        yield f"{found.others:,} cases of this run do not belong to the study and are not listed"
    wanted, asked = found.run.manifest.rounds, found.run.manifest.requested_plan
    own = whole.lengths.rounds, whole.profile
    if not whole.is_search and (wanted, asked.profile) != own:
        yield (
            f"requested rounds: {wanted} of preset {asked.profile}; the study's plan has {own[0]} "
            f"of preset {own[1]}"
        )
    had = {case.case_id: _had(found.run, case, wanted) for case in cases}
    left = sum(wanted - count for count in had.values())
    if not left:
        return
    budget_s = asked.budget_s
    begins = "not run:"
    if budget_s is not None:
        begins = f"not run in the budget of {text.duration(budget_s)}:"
    yield f"{begins} {left:,} of {wanted * len(cases):,} rounds"
    for count in sorted(set(had.values()) - {wanted}):
        named = _named([case for case in cases if had[case.case_id] == count], cases)
        yield f"{f'{count} of {wanted} rounds' if count else 'no round'}: {named}"
    yield "graphlap study NAME --resume RUN measures the rest"


def _absent(cases: Sequence[Case], whole: Plan) -> Iterator[str]:
    """The study's models that the run has not, then those it has not on a runtime that the study
    names."""
    models = {case.model for case in cases}
    planned = dict.fromkeys(model for grid in whole.sweeps for model in grid.models)
    nowhere = [model for model in planned if model not in models]
    if nowhere:
        yield ", ".join(nowhere)
    there = {(case.model, case.runtime) for case in cases}
    for runtime in dict.fromkeys(name for grid in whole.sweeps for name in grid.runtimes):
        its = [model for grid in whole.sweeps if runtime in grid.runtimes for model in grid.models]
        lacking = [m for m in dict.fromkeys(its) if m in models and (m, runtime) not in there]
        if lacking:
            yield f"{runtime} {', '.join(lacking)}"


def _had(run: Run, case: Case, wanted: int) -> int:
    """How many rounds a case has had, of those that are wanted, which a search may go beyond; all,
    where it ended so that it gets no more."""
    statuses = [result.status for result in run.rounds_of(case)]
    ended = not TERMINAL.isdisjoint(statuses)
    return wanted if ended else min(wanted, sum(status != "cancelled" for status in statuses))


def _named(cases: Sequence[Case], among: Sequence[Case]) -> str:
    """Each of these cases by name: `fake all 4; ort-cpu, torch-cpu: mlp, char_cnn; ort-cpu: x`."""
    models = model_labels(case.model for case in among)
    told: list[str] = []
    runtimes: dict[str, list[str]] = {}
    for runtime in dict.fromkeys(case.runtime for case in cases):
        own = [case for case in cases if case.runtime == runtime]
        its = [case for case in among if case.runtime == runtime]
        if 1 < len(own) == len(its):
            told.append(f"{runtime} all {len(own)}")
            continue
        apart = differences(its)
        for case in own:
            name = " ".join([models[case.model], *apart[case.case_id]])
            runtimes.setdefault(name, []).append(runtime)
    names: dict[str, list[str]] = {}
    for name, of in runtimes.items():
        names.setdefault(", ".join(of), []).append(name)
    return "; ".join([*told, *(f"{of}: {', '.join(some)}" for of, some in names.items())])


PAGE = "study.md"


def page(study: Study, found: Found) -> Iterator[Block]:
    """Block by block; a picture of which nothing is there to be drawn is left out."""
    whole, files = load_study(study.name), study.files(found)
    there = (
        block
        for block in study.tables(found)
        if not isinstance(block, Picture) or block.file in files
    )
    return chain(
        (Heading(study.title, 1), Paragraph(study.repeats)),
        machines(found),
        there,
        conditions(found),
        missing(found, whole),
        (
            Heading("Command that repeats it"),
            Command(command_line(study.name, whole, found.run.manifest.requested_plan)),
        ),
    )


def page_of_parts(whole: Whole, parts: Mapping[str, Found]) -> Iterator[Block]:
    """The pages of the parts below each other; `parts` are those that the run has, by name."""
    yield Heading(whole.title, 1)
    yield Paragraph(whole.repeats)
    absent = [part.title for part in whole.parts if part.name not in parts]
    if absent:
        yield Points((f"not part of this run: {', '.join(absent)}",))
    for part in whole.parts:
        if part.name in parts:
            for block in page(part, parts[part.name]):
                yield nest(block, whole.folder_of(part))


def write_page(study: Study, found: Found) -> Iterator[str]:
    """Write the page and what else the study writes into the run folder; gives the names.

    OSError if one can't be written.
    """
    files = {PAGE: as_markdown(page(study, found)).encode(), **study.files(found)}
    for name, content in files.items():
        write_atomically(found.run.path / name, content)
        yield name


def command_line(name: str, whole: Plan, asked: Plan) -> str:
    """What measures the study as it was asked for here: with the same part of it, as long."""
    words = ["graphlap", "study", name]
    models = list(dict.fromkeys(model for sweep in asked.sweeps for model in sweep.models))
    if set(models) != {model for sweep in whole.sweeps for model in sweep.models}:
        words += ["--models", ",".join(models)]
    cards = {r for grid in whole.sweeps for r in grid.runtimes if clock_of(r) == "simulated"}
    for row in CHANGEABLE:
        changed = _values(asked, row.key, cards)
        if changed != _values(whole, row.key, cards):
            words += [row.flag, ",".join(map(str, changed))]
    for flag, given in (
        ("--overhead", asked.null and not whole.null),
        ("--per-host", asked.per_host),
    ):
        words += [flag] if given else []
    if asked.cluster:
        words += ["--cluster", asked.cluster]
    if asked.profile != whole.profile:
        words += ["--preset", asked.profile]
    if asked.rounds != whole.rounds:
        words += ["--rounds", str(asked.lengths.rounds)]
    if asked.budget_s != whole.budget_s:
        words += ["--budget", f"{asked.budget_s:g}s"]
    return shlex.join(words)


def _values(plan: Plan, key: str, cards: Collection[str]) -> list[Any]:
    """The values of a setting in the grids of a plan, but for those of a study's own cards."""
    grids = [grid for grid in plan.sweeps if not grid.runtimes or set(grid.runtimes) - set(cards)]
    return list(dict.fromkeys(value for grid in grids for value in getattr(grid, key)))


def written(asked: Study, found: Found) -> list[Path]:
    """The files of a study, written; DiskError if one can't be."""
    try:
        return [found.run.path / name for name in write_page(asked, found)]
    except OSError as error:
        raise unwritable(found.run.path, error) from error


def written_alone(folder: Path, blocks: Iterable[Block]) -> list[Path]:
    """A page that has nothing beside it, written; DiskError if it can't be."""
    try:
        write_atomically(folder / PAGE, as_markdown(blocks).encode())
    except OSError as error:
        raise unwritable(folder, error) from error
    return [folder / PAGE]


def told(blocks: Iterable[Block], paths: Sequence[Path]) -> int:
    """Print the page and what was written; 1 where standard output is gone."""
    out = ResilientStream(sys.stdout)
    write_document(blocks, out, width_of(out))
    for path in paths:
        out.write(f"{printable(f'wrote {path}')}\n")
    out.flush()
    return int(out.has_lost_output)
