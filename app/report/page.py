"""`graphlap report RUN… -o FILE`: runs, or two compared, as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from app.capabilities.slo_search.answer import kept
from app.cases.errors import PlanError, unwritable
from app.cases.round import is_imported
from app.cases.units import shown
from app.columns.rows import Rows
from app.comparison.aggregate_throughput import HostsTogether
from app.comparison.judge import Comparison
from app.comparison.measured_case import Measured
from app.console.answer.document import extra_tables, findings, page_answer
from app.console.answer.summary import (
    EndedRun,
    cause_notes,
    ended_run,
    trust_line,
    warning_paragraph,
)
from app.console.check import check_blocks
from app.console.output_files import PAGE, refuse_output, write_output
from app.console.row_table import row_table, shown_percentiles
from app.console.run_comparison import Comparing
from app.console.run_summary import Said, said, spread_advice, without_winners
from app.console.scaling import together_sentences
from app.console.searches import ladder_tables, rate_figures, rate_tables
from app.console.verdicts import comparison_blocks
from app.console.verify import damage
from app.formatting import text
from app.formatting.case_labels import model_labels
from app.history.run_comparison import RunSide, compare_runs, history_for, side_of
from app.history.trends import History
from app.machine.environment import graphlap_version
from app.plan.command import flags_line, shell_line
from app.plan.plan import Plan
from app.present.document import (
    Block,
    Command,
    Details,
    Heading,
    Note,
    Paragraph,
    Points,
    names,
    table,
)
from app.present.figure import Axis, Figure, Mark, ReferenceLine, Series, Symbol
from app.present.html import as_html
from app.present.svg import FILE_LOOK, safe_text
from app.report import comparison_figures, execution_figures
from app.report.execution_figures import of_cards, of_operators
from app.report.figures import FIGURES, Shown, ratios
from app.report.figures import shown as figures_shown
from app.run_folder.hosts import differing, environments
from app.run_folder.run import Run
from app.runs.verify import Whole, read_whole
from exporters import install_layout
from exporters.models import catalogue

_COLORS = {"slower": 1, "faster": 2}
_UNDECIDED_COLOR = 6
_SYMBOLS: tuple[Symbol, ...] = ("circle", "diamond")


def comparison(before: RunSide, after: RunSide, history: History | None = None) -> Iterator[Block]:
    """The section; where the runs share no case, it says so. `history` is that of the machine."""
    names = model_labels((before.name, after.name))  # of paths, as those of models
    first, second = names[before.name], names[after.name]
    found = replace(compare_runs(before, after, history=history), first=first, second=second)
    yield Heading(f"{second} against {first}", 1)
    yield from comparison_blocks(found)
    if figure := ratio_figure(found):
        yield figure


def ratio_figure(found: Comparison) -> Figure | None:
    """The second run over the first, with the interval that decided; None without a case."""
    series = []
    for place, case in enumerate(found.cases):
        for number, (name, sides) in enumerate(case.percentiles.items()):
            verdict = sides.verdict
            ends = verdict.interval
            noisy = ends is None or text.is_too_noisy(ends.low, ends.high)
            low, high = (None, None) if noisy or ends is None else (ends.low, ends.high)
            described = f"{case.label}, {shown(name)}: {sides.ratio:.3f}x, {verdict.word}"
            series.append(
                Series(
                    f"{case.label} {shown(name)}",
                    (Mark(sides.ratio, place, described, low, high),),
                    color=_COLORS.get(verdict.word, _UNDECIDED_COLOR),
                    symbol=_SYMBOLS[number % len(_SYMBOLS)],
                    has_legend=False,
                )
            )
    if not series:
        return None
    return Figure(
        f"{found.second} over {found.first}",
        Axis("ratio of latencies (more than 1: slower)", "times", "log", least=0.95, most=1.05),
        Axis(names=tuple(case.label for case in found.cases)),
        tuple(series),
        (ReferenceLine("x", 1.0, "equal"),),
        note="Circle: first percentile of the table, diamond: the second. Line: interval of the "
        "ratio. Grey: same or undecided.",
    )


def _gib(value: Any) -> str:
    return f"{value / 2**30:.1f} GiB" if isinstance(value, int) else str(value)


def _rounded(value: Any) -> str:
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
    ("load_1min", "Load at the start", _rounded),
)


def where(run: Run, hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[Block]:
    """A column for each host; a merged run is repeated where its own were measured."""
    known = [{**host, "host": name or host.get("host")} for name, host in hosts.items()]
    rows = [
        (title, *("" if host.get(name) is None else text(host.get(name)) for host in known))
        for name, title, text in _HOST
        if any(host.get(name) is not None for host in known)
    ]
    versions = (_versions(host.get("packages")) for host in hosts.values())
    rows.append(("Packages", *(versions if hosts else [""])))
    columns = ("", *(str(host.get("host") or "machine") for host in known or [{}]))
    yield table(names(*columns), rows)
    if not run.manifest.merged:
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
    flags = flags_line(run.manifest.asked) if _of_catalogue(run.manifest.asked) else None
    if flags is not None:
        yield Command(flags, "Without the run folder")


def _of_catalogue(plan: Plan) -> bool:
    """Whether nothing else is measured: a file has to be there, and may have changed."""
    known = catalogue.names()
    return all(model in known for sweep in plan.sweeps for model in sweep.models)


_MOST = 3
"""So many models or runtimes are named."""


def title(ended: EndedRun, hosts: Mapping[str, Mapping[str, Any]]) -> str:
    """Models and machine: `mlp and gru on AMD EPYC`."""
    return f"{models(ended.own)} {_machine(ended, hosts)}"


def question(ended: EndedRun) -> str:
    """What the plan asks."""
    plan, named, runtimes = ended.plan, models(ended.own), _runtimes(ended.own)
    is_one = len({one.row["model"] for one in ended.own}) == 1
    if plan.check:
        return f"{'Does' if is_one else 'Do'} {named} compile on {runtimes}?"
    if ended.is_imported:
        return f"What did other programs measure for {named}?"
    if ended.rates is not None:
        target = kept(ended.rates.target)
        return f"How many requests per second can be served at {target} ({named} on {runtimes})?"
    if ended.tunes is not None:
        return f"Which runtime and options give the best {ended.tunes.goal.name} for {named}?"
    if plan.largest_batch:
        return f"How large a batch of {named} runs on {runtimes}?"
    verb = "is" if is_one else "are"
    if plan.baseline:
        return f"{verb.capitalize()} {named} faster or slower than the baseline {plan.baseline}?"
    if len({one.case.runtime for one in ended.own}) > 1:
        return f"Which of {runtimes} runs {named} fastest?"
    return f"How fast {verb} {named} on {runtimes}?"


def models(measured: Sequence[Measured]) -> str:
    """`mlp, gru, net.onnx and 4 more models`."""
    names = dict.fromkeys(str(one.row["model"]) for one in measured)
    labels = model_labels(names)
    return _listed([labels[name] for name in names], "models")


def _runtimes(measured: Sequence[Measured]) -> str:
    return _listed(list(dict.fromkeys(one.case.runtime for one in measured)), "runtimes")


def _listed(names: Sequence[str], what: str) -> str:
    if not names:
        return f"no {what}"
    if len(names) > _MOST + 1:
        return f"{', '.join(names[:_MOST])} and {len(names) - _MOST} more {what}"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _machine(ended: EndedRun, hosts: Mapping[str, Mapping[str, Any]]) -> str:
    clocks = {one.row["clock"] for one in ended.own if one.row["clock"]}
    if ended.is_imported:
        return "as other programs measured"
    if clocks == {"simulated"}:
        return f"on {_runtimes(ended.own)}, simulated"
    if len(hosts) > 1:
        return f"on {len(hosts)} machines"
    host: Mapping[str, Any] = next(iter(hosts.values()), {})
    return f"on {host.get('cpu') or host.get('host') or 'an unknown machine'}"


_WIDTH = 200
"""Columns of a terminal in which no table leaves anything out."""


def answer(ended: EndedRun) -> Iterator[Block]:
    """What was measured and what it comes to: searches and comparisons, else who is fastest."""
    yield from page_answer(ended)
    if ended.tunes is not None:
        yield from ladder_tables(ended.tunes)
    if ended.rates is not None:
        yield from rate_tables(ended.rates)
        yield from rate_figures(ended.rates)
    if ended.plan.check:
        yield from check_blocks(ended.measured, _WIDTH)
    if ended.compared is not None:
        yield from ended.compared.blocks
    yield Points(tuple(together_sentences(ended.together)))


def more_results(ended: EndedRun) -> Iterator[Block]:
    """Largest batches, cold starts, operators and what else a plan may ask for."""
    tables = list(extra_tables(ended.run, ended.rows, _WIDTH))
    if tables:
        yield Heading("More results")
        yield from tables


def evidence(
    run: Run, measured: Sequence[Measured], together: Sequence[HostsTogether]
) -> Iterator[Block]:
    """Nothing where there is nothing to draw. Samples are read model by model."""
    cases = figures_shown(run, measured)
    overview = (
        ratios(cases),
        comparison_figures.accuracy(cases),
        comparison_figures.largest_batch(run, measured),
        comparison_figures.hosts(together),
        execution_figures.fit(cases),
    )
    names = model_labels(str(one.row["model"]) for one in cases)
    of_all = [figure for figure in overview if figure is not None]
    if of_all or names:
        yield Heading("Evidence")
    yield from of_all
    yield from of_cards(cases)
    for model, label in names.items():
        group = [one for one in cases if one.row["model"] == model]
        latency, *others = _of_model(group)
        if len(names) == 1:
            yield latency
            yield Details(f"More figures of {label}", tuple(others), 3)
        else:
            yield Details(f"Figures of {label}", (latency, *others), 3)
        for one in group:
            one.forget()


def _of_model(group: Sequence[Shown]) -> list[Figure]:
    """The latencies, then what else is known of the cases of one model."""
    made = (make(group) for make in (*FIGURES, *comparison_figures.OF_A_MODEL))
    return [figure for figure in chain(made, of_operators(group)) if figure is not None]


def run_page(found: Whole, measured: Sequence[Measured], called: str) -> Iterator[Block]:
    """The page of one run; `called` is its folder's name where there are several."""
    run, manifest = found.run, found.run.manifest
    ended = ended_run(run, measured, Comparing().of(run, measured))
    hosts = environments(manifest, run.environments, ended.rows)
    heading = title(ended, hosts)
    yield Heading(f"{heading}: {called}" if called else heading, 1)
    yield Paragraph(
        f"{manifest.name}, {manifest.created_at_utc[:16].replace('T', ' ')} UTC, run "
        f"{manifest.run_id}, Graphlap {manifest.graphlap_version}",
        "quiet",
    )
    yield Heading("Question")
    yield Paragraph(question(ended))
    yield Heading("Answer")
    yield from answer(ended)
    listed = said(measured, manifest.asked.band)
    if manifest.asked.goal is not None:
        listed = without_winners(listed)
    yield from _confidence(ended, listed)
    yield from _findings(ended, listed)
    yield from _problems(ended, found.left_out)
    yield from _merged(list(differing(manifest.merged)))
    yield from evidence(run, measured, ended.together)
    yield from more_results(ended)
    yield from _rows(ended, listed)
    if not any(is_imported(one.case.runtime) for one in measured):
        yield from _where(found, hosts)


def _confidence(ended: EndedRun, listed: Said) -> Iterator[Block]:
    blocks: list[Block] = [Paragraph(trust)] if (trust := trust_line(ended)) else []
    blocks += warning_paragraph(ended)
    if advice := spread_advice(ended.run, ended.measured):
        blocks.append(Paragraph(advice))
    if listed.sure:
        blocks.append(Points(listed.sure))
    if listed.fastest:
        blocks.append(Details("Every comparison with its interval", (Points(listed.fastest),), 3))
    if listed.doubts:
        notes = (Note(f"({number})", doubt) for number, doubt in enumerate(listed.doubts, 1))
        blocks.append(Details("Every warning with its cases", tuple(notes), 3))
    if blocks:
        yield Heading("Confidence")
        yield from blocks


def _findings(ended: EndedRun, listed: Said) -> Iterator[Block]:
    brief = findings(ended)
    if brief:
        yield Heading("Findings")
        yield Points(brief)
    if listed.noticed:
        yield Details("Every finding", (Points(listed.noticed),), 3)


def _problems(ended: EndedRun, damaged: Sequence[str]) -> Iterator[Block]:
    """Why cases have no figures, and what of the run is damaged."""
    notes: list[Block] = [Note("damaged", one, "error", "damaged") for one in damaged]
    if not ended.plan.check:
        notes += cause_notes(ended)  # a check's answer has them
    if notes:
        yield Heading("Failures and gaps")
        yield from notes


def _merged(differences: Sequence[str]) -> Iterator[Block]:
    if differences:
        yield Heading("Differences between the merged runs")
        yield Points(tuple(differences))


def _rows(ended: EndedRun, listed: Said) -> Iterator[Block]:
    percentiles = shown_percentiles(ended.plan.percentiles)
    table = row_table(ended.rows, listed.marks, "", percentiles)
    yield Details(f"All {len(ended.rows):,} rows", (table,))


def _where(found: Whole, hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[Block]:
    how = "" if found.run.manifest.merged else ", and how to repeat it"
    yield Details(f"Where it was measured{how}", tuple(where(found.run, hosts)))


_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
"""By which a browser itself keeps the page from asking anybody for anything."""


def write_report(
    folders: Sequence[str], output: str, history: str | None = None
) -> tuple[str, ...]:
    """Write the page of what is whole of these runs; a sentence for each thing that is damaged.

    `history` is a folder of earlier runs, for the comparison of two; without one, the runs in the
    same folders are read. ResultsError for a folder that is no run, DiskError if the page can't be
    written, PlanError for a history of other than two runs.
    """
    path = Path(output)
    refuse_output("-o", path, PAGE)
    if history is not None and len(folders) != 2:
        raise PlanError(
            f"--history: it is for the comparison of two runs (got {len(folders)})",
            "Name two runs or leave out --history",
        )
    runs = [read_whole(Path(folder)) for folder in folders]
    content = "".join(page(runs, None if history is None else Path(history)))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error, ", or name another file") from error
    write_output(path, content.encode("utf-8", "backslashreplace"))
    return damage(runs)


def page(runs: Sequence[Whole], history: Path | None = None) -> Iterator[str]:
    """The page, part by part: of a run that was told only its rows are kept. `history` is a folder
    of earlier runs that was named for the comparison of two."""
    names = model_labels(str(found.run.path) for found in runs)  # of paths, as those of models
    called = [names[str(found.run.path)] for found in runs]
    yield '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{safe_text(', '.join(called))} · Graphlap</title>\n"
    yield f"<style>\n{_colors()}{_asset('page.css')}</style></head>\n<body>\n<main>\n"
    measured = [Rows().measured(found.run) for found in runs]
    if len(runs) == 2:
        before, after = (side_of(one.run, of) for one, of in zip(runs, measured, strict=True))
        yield "<section>\n"
        undamaged = [
            (found.run, own)
            for found, own in zip(runs, measured, strict=True)
            if not found.left_out
        ]
        past = history_for([found.run.path for found in runs], undamaged, history)
        yield from as_html(comparison(before, after, past))
        yield "</section>\n"
    for number, (found, own_measured) in enumerate(zip(runs, measured, strict=True)):
        yield f'<section class="run" id="run-{number}">\n'
        yield from as_html(run_page(found, own_measured, called[number] if len(runs) > 1 else ""))
        yield "</section>\n"
    yield f'</main>\n<p class="quiet">Made by Graphlap {safe_text(graphlap_version())}.</p>\n'
    yield f"<script>\n{_asset('page.js')}</script>\n</body></html>\n"


def _colors() -> str:
    """Those of series on paper and on a light screen; the style sheet has the dark ones."""
    return f":root {{ {' '.join(f'--c{n}: {c};' for n, c in enumerate(FILE_LOOK.colors))} }}\n"


def _asset(name: str) -> str:
    return install_layout.asset("report", name).read_text("utf-8")
