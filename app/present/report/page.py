"""`graphlap report RUN… -o FILE`: runs, or two compared, as one self-contained HTML page."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from app.analysis.columns.rows import Rows
from app.analysis.comparison.measured_case import MeasuredCase
from app.analysis.insights.insight import Insight
from app.cases.errors import PlanError, unwritable
from app.cases.round import is_imported
from app.formatting.case_labels import model_labels
from app.machine.environment import graphlap_version
from app.plan.command import flags_line, shell_line
from app.plan.plan import Plan
from app.present.console.answer.document import all_parts, answer_blocks, replaces_medians
from app.present.console.answer.summary import RunResult, cause_notes, run_result
from app.present.console.output_files import PAGE, reject_output, write_output
from app.present.console.run_comparison import Comparer
from app.present.console.run_summary import ROWS
from app.present.console.verdicts import comparison_blocks
from app.present.document import (
    Block,
    Command,
    Details,
    Heading,
    Note,
    Paragraph,
    names,
    table,
)
from app.present.figure import Figure
from app.present.html import as_html
from app.present.report import comparison_figures, execution_figures
from app.present.report.comparison_figures import ratio_figures
from app.present.report.execution_figures import card_figures, operator_figures
from app.present.report.figures import FIGURES, TimedCase, ratios
from app.present.report.figures import timed_cases as figures_shown
from app.present.svg import FILE_LOOK, safe_text
from app.run_folder.manifest import FULL_TABLE, environments
from app.run_folder.run import Run
from app.runs.history.run_comparison import RunSide, compare_runs, history_for, side_of
from app.runs.history.trends import History
from app.runs.union import MeasuredTwice, read_runs
from exporters import install_layout
from exporters.models import catalogue


def comparison(
    previous: RunSide, current: RunSide, history: History | None = None
) -> Iterator[Block]:
    """The section; where the runs share no case, it says so. `history` is that of the machine."""
    names = model_labels((previous.name, current.name))  # of paths, as those of models
    first, second = names[previous.name], names[current.name]
    result = replace(compare_runs(previous, current, history=history), first=first, second=second)
    yield Heading(f"{second} against {first}", 1)
    yield from comparison_blocks(result)
    yield from ratio_figures(result)


def _gib(value: Any) -> str:
    return f"{value / 2**30:.1f} GiB" if isinstance(value, int) else str(value)


def _two_decimals(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _yes(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


_HOST: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("host", "Host", str),
    ("cpu", "Processor", str),
    ("cores_usable", "Cores", str),
    ("memory_bytes", "Memory", _gib),
    ("os", "System", str),
    ("python", "Python", str),
    ("governor", "Governor", str),
    ("virtual_machine", "Virtual machine", _yes),
    ("load_1min", "Load at the start", _two_decimals),
)


def machine_blocks(run: Run, hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[Block]:
    """A column for each host; what is of several runs is repeated where each was measured."""
    host_facts = [{**host, "host": name or host.get("host")} for name, host in hosts.items()]
    rows = [
        (title, *("" if host.get(name) is None else text(host.get(name)) for host in host_facts))
        for name, title, text in _HOST
        if any(host.get(name) is not None for host in host_facts)
    ]
    versions = (_versions(host.get("packages")) for host in hosts.values())
    rows.append(("Packages", *(versions if hosts else [""])))
    columns = ("", *(str(host.get("host") or "machine") for host in host_facts or [{}]))
    yield table(names(*columns), rows)
    if not run.parts:
        yield from _commands(run)


def _versions(packages: Any) -> str:
    """Of each package; a damaged value as it stands."""
    if not isinstance(packages, dict):
        return "" if packages is None else str(packages)
    return ", ".join(f"{name} {version}" for name, version in packages.items())


def _commands(run: Run) -> Iterator[Command]:
    """By its folder, and for who has none by flags alone, where these say all of it."""
    folder = str(run.path.absolute())
    yield Command(shell_line([*install_layout.PROGRAM.split(), "run", folder]))
    plan = run.manifest.requested_plan
    flags = flags_line(plan) if _is_of_catalogue(plan) else None
    if flags is not None:
        yield Command(flags, "Without the run folder")


def _is_of_catalogue(plan: Plan) -> bool:
    """Whether nothing else is measured: a file has to be there, and may have changed."""
    catalogue_names = catalogue.names()
    return all(model in catalogue_names for sweep in plan.sweeps for model in sweep.models)


_MAXIMUM_NAMES = 3
"""So many models or runtimes are named."""


def title(result: RunResult, hosts: Mapping[str, Mapping[str, Any]]) -> str:
    """Models and machine: `mlp and gru on AMD EPYC`."""
    return f"{models(result.model_measurements)} {_machine(result, hosts)}"


def question(result: RunResult) -> str:
    """What the plan asks."""
    plan = result.plan
    model_text = models(result.model_measurements)
    runtimes = _runtimes(result.model_measurements)
    is_one = len({measurement.row["model"] for measurement in result.model_measurements}) == 1
    if plan.check:
        return f"{'Does' if is_one else 'Do'} {model_text} compile on {runtimes}?"
    if result.is_imported:
        return f"What did other programs measure for {model_text}?"
    for search in result.answers:
        return search.question(model_text, runtimes)
    verb = "is" if is_one else "are"
    if plan.baseline:
        return (
            f"{verb.capitalize()} {model_text} faster or slower than the baseline {plan.baseline}?"
        )
    if len({measurement.case.runtime for measurement in result.model_measurements}) > 1:
        return f"Which of {runtimes} runs {model_text} fastest?"
    return f"How fast {verb} {model_text} on {runtimes}?"


def models(measurements: Sequence[MeasuredCase]) -> str:
    """`mlp, gru, net.onnx and 4 more models`."""
    names = dict.fromkeys(str(measurement.row["model"]) for measurement in measurements)
    labels = model_labels(names)
    return _name_list([labels[name] for name in names], "models")


def _runtimes(measurements: Sequence[MeasuredCase]) -> str:
    return _name_list(
        list(dict.fromkeys(measurement.case.runtime for measurement in measurements)), "runtimes"
    )


def _name_list(names: Sequence[str], noun: str) -> str:
    if not names:
        return f"no {noun}"
    if len(names) > _MAXIMUM_NAMES + 1:
        return f"{', '.join(names[:_MAXIMUM_NAMES])} and {len(names) - _MAXIMUM_NAMES} more {noun}"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _machine(result: RunResult, hosts: Mapping[str, Mapping[str, Any]]) -> str:
    clocks = {m.row["clock"] for m in result.model_measurements if m.row["clock"]}
    if result.is_imported:
        return "as other programs measured"
    if clocks == {"simulated"}:
        return f"on {_runtimes(result.model_measurements)}, simulated"
    if len(hosts) > 1:
        return f"on {len(hosts)} machines"
    host: Mapping[str, Any] = next(iter(hosts.values()), {})
    return f"on {host.get('cpu') or host.get('host') or 'an unknown machine'}"


MAXIMUM_CASES = 300
"""Cases whose samples are read and drawn: the 34 networks of a study on four runtimes twice."""
_WIDTH = 160
"""Columns of text beside which a page has no room."""


def evidence(result: RunResult) -> Iterator[Block]:
    """Nothing where there is nothing to draw. Samples are read model by model."""
    run, cases = result.run, figures_shown(result.run, result.measured)
    overview = (
        ratios(cases),
        comparison_figures.accuracy(cases),
        *chain.from_iterable(search.figures() for search in result.answers if search.is_final),
        *chain.from_iterable(search.evidence(result.measured) for search in result.answers),
        comparison_figures.hosts(result.throughputs),
        execution_figures.fit(cases),
    )
    names = model_labels(str(case.row["model"]) for case in cases)
    overview_figures = [figure for figure in overview if figure is not None]
    if overview_figures or names:
        yield Heading("Evidence")
    yield from overview_figures
    yield from card_figures(cases)
    selection = models_with_figures(cases, result.insights)
    if len(selection) < len(names):
        order = ", models with findings first" * bool(result.insights)
        yield Paragraph(
            f"Figures of {len(selection)} of {len(names)} models{order}. "
            f"The window has the figures of every case, {FULL_TABLE} in the run "
            "folder has every row.",
            "quiet",
        )
        yield Command(shell_line([*install_layout.PROGRAM.split(), str(run.path.absolute())]))
    for model, label in names.items():
        if model not in selection:
            continue
        group = [case for case in cases if case.row["model"] == model]
        latency, *details = _model_figures(group)
        if len(names) == 1:
            yield latency
            yield Details(f"More figures of {label}", tuple(details), 3)
        else:
            yield Details(f"Figures of {label}", (latency, *details), 3)
        for case in group:
            case.forget()


def models_with_figures(cases: Sequence[TimedCase], insights: Sequence[Insight]) -> frozenset[str]:
    """The models with figures of their own: all where there are few cases, else models with
    findings, then others in the plan's order, up to `MAXIMUM_CASES` in total."""
    models = {case.case_id: str(case.row["model"]) for case in cases}
    counts = Counter(models.values())
    notable = (models.get(case_id, "") for insight in insights for case_id in insight.case_ids)
    selection, total = set[str](), 0
    for model in dict.fromkeys(chain(filter(None, notable), counts)):
        if not selection or total + counts[model] <= MAXIMUM_CASES:
            selection.add(model)
            total += counts[model]
    return frozenset(selection)


def _model_figures(group: Sequence[TimedCase]) -> list[Figure]:
    """The latencies, then what else is known of the cases of one model."""
    figures = (make(group) for make in (*FIGURES, *comparison_figures.MODEL_FIGURES))
    return [figure for figure in chain(figures, operator_figures(group)) if figure is not None]


def run_page(
    run: Run, measurements: Sequence[MeasuredCase], label: str, damage: Sequence[str]
) -> Iterator[Block]:
    """The page of one run; `label` is its folder's name where there are several."""
    manifest = run.manifest
    result = run_result(run, measurements, Comparer().outcome_of(run, measurements))
    hosts = environments(manifest, run.environments, result.rows)
    heading = title(result, hosts)
    yield Heading(f"{heading}: {label}" if label else heading, 1)
    yield Paragraph(
        f"{manifest.name}, {manifest.created_at_utc[:16].replace('T', ' ')} UTC, run "
        f"{' and '.join(run.parts) or manifest.run_id}, Graphlap {manifest.graphlap_version}",
        "quiet",
    )
    yield Heading("Question")
    yield Paragraph(question(result))
    yield Heading("Answer")
    yield from answer_blocks(result, _WIDTH, is_page=True)
    if result.replaces_rows:
        yield from cause_notes(result)
    yield from (Note("damaged", sentence, "error", "damaged") for sentence in damage)
    yield from evidence(result)
    for part in all_parts(result):
        is_there = part.summary == ROWS and replaces_medians(result)
        if not is_there and (part.summary == ROWS or not result.plan.check):
            yield part
    if not any(is_imported(measurement.case.runtime) for measurement in measurements):
        suffix = "" if run.parts else ", and how to repeat it"
        yield Details(f"Where it was measured{suffix}", tuple(machine_blocks(run, hosts)))


_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
"""By which a browser itself keeps the page from asking anybody for anything."""


def write_report(
    folders: Sequence[str], output: str, history: str | None = None
) -> tuple[str, ...]:
    """Write the page of what is whole of these runs; a sentence for each thing that is damaged.

    Several are one page, of their union where no two timed a case on one host, else of each.
    `history` is a folder of earlier runs, for the comparison of two; without one, the runs in the
    same folders are read. ResultsError for a folder that is no run, DiskError if the page can't be
    written, PlanError for a history of other than two runs.
    """
    path = Path(output)
    reject_output("-o", path, PAGE)
    if history is not None and len(folders) != 2:
        raise PlanError(
            f"--history: it is for the comparison of two runs (got {len(folders)})",
            "Name two runs or leave out --history",
        )
    runs = _runs(folders, history is not None)
    content = "".join(page(runs, None if history is None else Path(history)))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error, ", or name another file") from error
    write_output(path, content.encode("utf-8", "backslashreplace"))
    return tuple(sentence for _, damage in runs for sentence in damage)


def _runs(folders: Sequence[str], compared: bool) -> list[tuple[Run, tuple[str, ...]]]:
    """The runs of the page, and what is damaged of each."""
    if not compared:
        with contextlib.suppress(MeasuredTwice):
            return [read_runs(folders)]
    return [read_runs([folder]) for folder in folders]


def page(runs: Sequence[tuple[Run, tuple[str, ...]]], history: Path | None = None) -> Iterator[str]:
    """The page, part by part: of a run that was told only its rows are kept. `history` is a folder
    of earlier runs that was named for the comparison of two."""
    paths = [list(map(str, run.paths)) for run, _ in runs]
    names = model_labels(chain.from_iterable(paths))  # of paths, as those of models
    run_names = [", ".join(names[path] for path in own) for own in paths]
    yield '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{safe_text(', '.join(run_names))} · Graphlap</title>\n"
    yield f"<style>\n{_colors()}{_asset('page.css')}</style></head>\n<body>\n<main>\n"
    measurement_lists = [Rows().measured(run) for run, _ in runs]
    if len(runs) == 2:
        previous, current = (
            side_of(run, measurements)
            for (run, _), measurements in zip(runs, measurement_lists, strict=True)
        )
        yield "<section>\n"
        intact_sides = [
            (run, measurements)
            for (run, damage), measurements in zip(runs, measurement_lists, strict=True)
            if not damage and not run.parts
        ]
        past_runs = history_for(
            [path for run, _ in runs for path in run.paths], intact_sides, history
        )
        yield from as_html(comparison(previous, current, past_runs))
        yield "</section>\n"
    for number, ((run, damage), measured) in enumerate(zip(runs, measurement_lists, strict=True)):
        yield f'<section class="run" id="run-{number}">\n'
        label = run_names[number] if len(runs) > 1 else ""
        yield from as_html(run_page(run, measured, label, damage))
        yield "</section>\n"
    yield f'</main>\n<p class="quiet">Made by Graphlap {safe_text(graphlap_version())}.</p>\n'
    yield f"<script>\n{_asset('page.js')}</script>\n</body></html>\n"


def _colors() -> str:
    """Those of series on paper and on a light screen; the style sheet has the dark ones."""
    return f":root {{ {' '.join(f'--c{n}: {c};' for n, c in enumerate(FILE_LOOK.colors))} }}\n"


def _asset(name: str) -> str:
    return install_layout.asset("report", name).read_text("utf-8")
