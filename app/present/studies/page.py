"""The page of a study: conditions, tables, missing cases; printed and written to the run folder."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from app.analysis.columns.status import MISSING
from app.cases.case import Case
from app.cases.errors import unwritable
from app.cases.status import INCOMPLETE, TERMINAL
from app.cases.telemetry import has_other_load
from app.formatting import text
from app.formatting.case_labels import CaseSet, differences, model_labels
from app.formatting.text import printable
from app.machine.installed_runtimes import clock_of
from app.plan.plan import Plan
from app.plan.studies import CHANGEABLE, load_study
from app.present.console.run_summary import failure_causes, warning_texts
from app.present.console.streams import ResilientStream, width_of
from app.present.document import (
    Block,
    Column,
    Command,
    Heading,
    Paragraph,
    Picture,
    Points,
    Table,
    names,
    nest,
    table,
)
from app.present.studies.study import Found, Study, Whole
from app.present.terminal import as_markdown, write_document
from app.run_folder.diagnostics import warning_groups
from app.run_folder.files import write_atomically
from app.run_folder.run import Run


def conditions(results: Found) -> Iterator[Block]:
    """How each case was measured, how busy the machine was, and a table of the runtimes."""
    yield Heading("How it was measured")
    if results.host:
        hosts = sorted({results.run.host_of(case) for case in results.run.cases})
        yield Paragraph(
            f"The run has {len(hosts)} hosts, {', '.join(hosts)}. The tables show {results.host}, "
            "except for the aggregate of all hosts."
        )
    yield Paragraph(_protocol(results))
    yield from _load(results)
    yield _runtimes(results)


def machines(results: Found) -> Iterator[Block]:
    """The date with the one machine, or a line for each of several."""
    manifest = results.run.manifest
    head = f"Measured {manifest.created_at_utc[:10]} with Graphlap {manifest.graphlap_version} on"
    cases = {
        results.run.host_of(measurement.case): measurement.case for measurement in results.measured
    }
    if results.host or len(cases) < 2:
        yield Paragraph(f"{head} {_machine(results.environment)}.")
        return
    environments = {host: results.run.environment_of(case) for host, case in cases.items()}
    yield Paragraph(f"{head} {len(cases)} machines:")
    yield Points(
        tuple(f"{host}: {_machine(environment)}" for host, environment in environments.items())
    )


def _machine(host: Mapping[str, Any]) -> str:
    where = [str(host.get("cpu") or "an unknown processor")]
    if host.get("cores_usable"):
        suffix = "of a virtual machine" if host.get("virtual_machine") else "to use"
        where.append(f"{host['cores_usable']} cores {suffix}")
    if host.get("memory_bytes"):
        where.append(f"{host['memory_bytes'] / 2**30:.1f} GiB")
    where += [str(gpu.get("name", "a GPU")) for gpu in (host.get("gpus") or {}).values()]
    if host.get("python"):
        where.append(f"Python {host['python']}")
    return ", ".join(where)


def _protocol(results: Found) -> str:
    """Simulated cases have no length, and a search has its own order."""
    manifest = results.run.manifest
    limits = manifest.limits
    if manifest.requested_plan.is_search:
        sentence = "Rounds for each case: set by its search."
    else:
        sentence = (
            f"Rounds for each case: {manifest.rounds}, all cases in random order "
            f"(seed {manifest.seed})."
        )
    if any(clock_of(measurement.case.runtime) == "wall" for measurement in results.measured):
        sentence += (
            f" Each measured round is a separate process that measures {limits.min_s:g} to "
            f"{limits.max_s:g} s."
        )
    return sentence


def _load(results: Found) -> Iterator[Paragraph]:
    """How busy the machine was; nothing where that is not known."""
    loads = [
        number
        for measurement in results.measured
        for round_result in results.run.rounds_of(measurement.case)
        if (number := round_result.environment.get("load_1min"))
    ]
    if not loads:
        return
    cores = results.environment.get("cores_usable") or 1
    on = text.counted(cores, "core")
    load_text = f"a load of {min(loads):.1f} to {max(loads):.1f} on {on} when rounds began"
    if has_other_load(max(loads), cores):
        yield Paragraph(
            f"Loaded: other work shared the machine, {load_text}. Measured times are longer than "
            "on a quiet machine; simulated times are not affected."
        )
    else:
        yield Paragraph(f"The machine had {load_text}.")


def _runtimes(results: Found) -> Table:
    """A line for each runtime: what it is, what timed it, and how many of its cases are well."""
    rows = []
    for name in dict.fromkeys(measurement.case.runtime for measurement in results.measured):
        runtime_cases = [
            measurement for measurement in results.measured if measurement.case.runtime == name
        ]
        versions, clocks, ends = (
            dict.fromkeys(str(case.row[column]) for case in runtime_cases if case.row[column])
            for column in ("runtime_version", "clock", "boundary")
        )
        rows.append(
            (
                name,
                ", ".join(versions),
                ", ".join(text.CLOCK_TEXT.get(clock, clock) for clock in clocks),
                ", ".join(f"{end} memory" for end in ends),
                f"{sum(case.is_well for case in runtime_cases)} of {len(runtime_cases)}",
            )
        )
    titles = names("runtime", "version", "timed by", "complete in")
    return table((*titles, Column("cases measured")), rows)


def missing(results: Found, whole: Plan) -> Iterator[Block]:
    """`whole` is the study's own plan."""
    yield Heading("Not measured")
    lacking = tuple(_lacking(results, whole))
    if lacking:
        yield Points(lacking)
    elif whole.tune:
        yield Paragraph("The text below the table of the search lists what it did not measure.")
    else:
        yield Paragraph("Nothing: every case of the study has all its rounds or ended.")
    case_set = CaseSet([measurement.case for measurement in results.measured])
    rows = [m.row for m in results.measured if m.row["status"] not in INCOMPLETE]
    if causes := failure_causes(rows, case_set):
        yield Heading("Failures")
        yield Points(tuple(f"{cause.label}, {cause.text}" for cause in causes))
    groups = [group for group in warning_groups(rows) if group.code != MISSING]
    if groups:
        yield Heading("Warnings")
        yield Points(warning_texts(groups, case_set))


def _lacking(results: Found, whole: Plan) -> Iterator[str]:
    yield from results.damaged
    cases = [measurement.case for measurement in results.measured]
    absent = "; ".join(_absent(cases, whole))
    if absent:
        yield f"not part of this run: {absent}"
    if results.others:
        yield f"not of the study and not listed: {text.counted(results.others, 'case')} of this run"
    round_count, plan = results.run.manifest.rounds, results.run.manifest.requested_plan
    study_values = whole.lengths.rounds, whole.profile
    if not whole.is_search and (round_count, plan.profile) != study_values:
        yield (
            f"requested rounds: {round_count} of preset {plan.profile}; the study's plan has "
            f"{study_values[0]} of preset {study_values[1]}"
        )
    count_by_id = {case.case_id: _count_rounds(results.run, case, round_count) for case in cases}
    left = sum(round_count - count for count in count_by_id.values())
    if not left:
        return
    budget_s = plan.budget_s
    begins = "not run:"
    if budget_s is not None:
        begins = f"not run in the budget of {text.duration(budget_s)}:"
    yield f"{begins} {left:,} of {text.counted(round_count * len(cases), 'round')}"
    for count in sorted(set(count_by_id.values()) - {round_count}):
        case_names = _name_cases(
            [case for case in cases if count_by_id[case.case_id] == count], cases
        )
        had = f"{count} of {text.counted(round_count, 'round')}" if count else "no round"
        yield f"{had}: {case_names}"
    yield "graphlap study NAME --resume RUN measures the rest"


def _absent(cases: Sequence[Case], whole: Plan) -> Iterator[str]:
    """The study's models that the run has not, then those it has not on a runtime that the study
    names."""
    models = {case.model for case in cases}
    planned_models = dict.fromkeys(model for grid in whole.sweeps for model in grid.models)
    nowhere = [model for model in planned_models if model not in models]
    if nowhere:
        yield ", ".join(nowhere)
    measured_pairs = {(case.model, case.runtime) for case in cases}
    for runtime in dict.fromkeys(name for grid in whole.sweeps for name in grid.runtimes):
        runtime_models = [
            model for grid in whole.sweeps if runtime in grid.runtimes for model in grid.models
        ]
        lacking = [
            m
            for m in dict.fromkeys(runtime_models)
            if m in models and (m, runtime) not in measured_pairs
        ]
        if lacking:
            yield f"{runtime} {', '.join(lacking)}"


def _count_rounds(run: Run, case: Case, wanted: int) -> int:
    """How many rounds a case has had, of those that are wanted, which a search may go beyond; all,
    where it ended so that it gets no more."""
    statuses = [result.status for result in run.rounds_of(case)]
    ended = not TERMINAL.isdisjoint(statuses)
    return wanted if ended else min(wanted, sum(status != "cancelled" for status in statuses))


def _name_cases(cases: Sequence[Case], among: Sequence[Case]) -> str:
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
    cases_of: dict[str, list[str]] = {}
    for name, of in runtimes.items():
        cases_of.setdefault(", ".join(of), []).append(name)
    return "; ".join([*told, *(f"{of}: {', '.join(some)}" for of, some in cases_of.items())])


PAGE = "study.md"


def page(study: Study, results: Found) -> Iterator[Block]:
    """Block by block; a picture of which nothing is there to be drawn is left out."""
    whole, files = load_study(study.name), study.files(results)
    blocks = (b for b in study.tables(results) if not isinstance(b, Picture) or b.file in files)
    return chain(
        (Heading(study.title, 1), Paragraph(study.repeats)),
        machines(results),
        blocks,
        conditions(results),
        missing(results, whole),
        (
            Heading("Command that repeats it"),
            Command(command_line(study.name, whole, results.run.manifest.requested_plan)),
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


def command_line(name: str, whole: Plan, plan: Plan) -> str:
    """What measures the study as it was asked for here: with the same part of it, as long."""
    words = ["graphlap", "study", name]
    models = list(dict.fromkeys(model for sweep in plan.sweeps for model in sweep.models))
    if set(models) != {model for sweep in whole.sweeps for model in sweep.models}:
        words += ["--models", ",".join(models)]
    cards = {r for grid in whole.sweeps for r in grid.runtimes if clock_of(r) == "simulated"}
    for row in CHANGEABLE:
        new_values = _values(plan, row.key, cards)
        if new_values != _values(whole, row.key, cards):
            words += [row.flag, ",".join(map(str, new_values))]
    for flag, has_flag in (
        ("--overhead", plan.null and not whole.null),
        ("--per-host", plan.per_host),
    ):
        words += [flag] if has_flag else []
    if plan.cluster:
        words += ["--cluster", plan.cluster]
    if plan.profile != whole.profile:
        words += ["--preset", plan.profile]
    if plan.rounds != whole.rounds:
        words += ["--rounds", str(plan.lengths.rounds)]
    if plan.budget_s != whole.budget_s:
        words += ["--budget", f"{plan.budget_s:g}s"]
    return shlex.join(words)


def _values(plan: Plan, key: str, cards: Collection[str]) -> list[Any]:
    """The values of a setting in the grids of a plan, but for those of a study's own cards."""
    grids = [grid for grid in plan.sweeps if not grid.runtimes or set(grid.runtimes) - set(cards)]
    return list(dict.fromkeys(value for grid in grids for value in getattr(grid, key)))


NO_FILES: Mapping[str, bytes] = {}


def written(
    folder: Path, blocks: Iterable[Block], files: Mapping[str, bytes] = NO_FILES
) -> list[Path]:
    """The page and what is beside it, written into a run folder; DiskError if one can't be."""
    contents = {PAGE: as_markdown(blocks).encode(), **files}
    try:
        for name, content in contents.items():
            write_atomically(folder / name, content)
    except OSError as error:
        raise unwritable(folder, error) from error
    return [folder / name for name in contents]


def told(blocks: Iterable[Block], paths: Sequence[Path]) -> int:
    """Print the page and what was written; 1 where standard output is gone."""
    out = ResilientStream(sys.stdout)
    write_document(blocks, out, width_of(out))
    for path in paths:
        out.write(f"{printable(f'wrote {path}')}\n")
    out.flush()
    return int(out.has_lost_output)
