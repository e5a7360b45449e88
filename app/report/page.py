"""`--report RUN… -o FILE`: one HTML page that needs no network, for whoever has no Graphlap.

Words first, then the rows, then figures, then where and how it was measured. All text of a user's
is escaped; the page holds the plotting library (plotly.js, MIT licence) and asks nobody for more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cases.column import Row
from app.cases.disk import unwritable
from app.cases.errors import PlanError
from app.cases.imported import is_imported
from app.cases.status import STATUSES
from app.console.answer.document import page_answer
from app.console.answer.ended import ended_run
from app.console.comparing import Comparing
from app.console.damage import with_damage
from app.console.hosts_together import HEADING as TOGETHER
from app.console.hosts_together import together_sentences
from app.console.output_files import PAGE, refuse_output, write_output
from app.console.row_columns import TableColumn, all_columns, shown_percentiles, varied_and_common
from app.console.said import FASTEST, SURE, Said, said, without_winners
from app.machine.environment import graphlap_version
from app.present.html import as_html, safe, scrolled
from app.report import card, figures, hosts, reach
from app.report.asked_for import asked_for, searched
from app.report.checks import checks
from app.report.compared import comparison
from app.report.operators import of_operators
from app.report.schedule import of_cards
from app.report.shown import Shown, shown
from app.report.where import where
from app.results.compare import side_of
from app.results.hosts import environments
from app.results.hosts_together import hosts_together
from app.results.labels import model_labels
from app.results.measured import Measured
from app.results.noticing.noticed import HEADING
from app.results.plans_together import differing
from app.results.rows import Rows
from app.results.verify import Whole, read_whole
from exporters import own

if TYPE_CHECKING:
    from plotly.graph_objects import Figure
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
"""By which a browser itself keeps the page from asking anybody for anything."""


def write_report(folders: Sequence[str], output: str) -> tuple[str, int]:
    """Write the page of what is whole of these runs; what to print and the exit code, 1 where
    something is damaged.

    PlanError without the plotting library, ResultsError for a folder that is no run, DiskError if
    the page can't be written.
    """
    if find_spec("plotly") is None:
        raise PlanError(
            "--report needs plotly, which is not installed", "pip install 'graphlap[report]'"
        )
    path = Path(output)
    refuse_output("-o", path, PAGE)
    runs = [read_whole(Path(folder)) for folder in folders]
    content = "".join(page(runs))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error, ", or name another file") from error
    write_output(path, content.encode("utf-8", "backslashreplace"))
    return with_damage(f"wrote {path}\n", runs)


def page(runs: Sequence[Whole]) -> Iterator[str]:
    """The page, part by part: of a run that was told only its rows are kept."""
    from plotly.offline import get_plotlyjs

    names = model_labels(str(found.run.path) for found in runs)  # of paths, as those of models
    called = [names[str(found.run.path)] for found in runs]
    title = ", ".join(called)
    yield '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{safe(title)} · Graphlap</title>\n<style>\n{_asset('page.css')}</style></head>\n"
    yield "<body>\n<noscript>Figures, filter and order need JavaScript; words and rows do not."
    yield "</noscript>\n<main>\n"
    sides = []
    for number, found in enumerate(runs):
        measured = Rows().measured(found.run)
        yield from _run(found, measured, number, called[number] if len(runs) > 1 else "")
        sides.append(side_of(found.run, measured))
    if len(sides) == 2:
        yield from comparison(*sides)
    yield f'</main>\n<p class="quiet">Made by Graphlap {safe(graphlap_version())}.</p>\n'
    yield f"<script>{get_plotlyjs()}</script>\n<script>\n{_asset('page.js')}</script>\n"
    yield "</body></html>\n"


def _run(found: Whole, measured: Sequence[Measured], number: int, called: str) -> Iterator[str]:
    """One run's section; `called` is its folder's name where there are several."""
    run, manifest = found.run, found.run.manifest
    heading = f"{manifest.name}: {called}" if called else manifest.name
    yield f'<section class="run" id="run-{number}">\n<h1>{safe(heading)}</h1>\n'
    yield f'<p class="quiet">{safe(_what_ran(measured))}; {safe(manifest.created_at_utc)}, '
    yield f"run {safe(manifest.run_id)}, Graphlap {safe(manifest.graphlap_version)}</p>\n"
    yield from as_html(page_answer(ended_run(run, measured, Comparing().of(run, measured))))
    told = said(measured, manifest.asked.band)
    yield from as_html(searched(run))
    if manifest.asked.goal is not None:
        told = without_winners(told)
    yield from _words(told, found.left_out)
    yield from _list("In what the runs differ that were merged", list(differing(manifest.merged)))
    yield from _table(measured, shown_percentiles(manifest.asked.percentiles), told.marks)
    yield from as_html(asked_for(run, measured))
    if manifest.asked.check:
        yield from checks(measured)
    together = hosts_together(run, measured)
    yield from _list(TOGETHER, together_sentences(together))
    yield from _figures(
        shown(run, measured), reach.largest_batch(run, measured), hosts.hosts(together)
    )
    if not any(is_imported(one.case.runtime) for one in measured):
        rows = (one.row for one in measured)
        yield from where(run, environments(manifest, run.environments, rows))
    yield "</section>\n"


def _what_ran(measured: Sequence[Measured]) -> str:
    models = {one.case.model for one in measured}
    runtimes = dict.fromkeys(one.case.runtime for one in measured)
    hosts = dict.fromkeys(str(one.row["host"]) for one in measured if one.row["host"])
    told = f"{_count(len(measured), 'case')} of {_count(len(models), 'model')}"
    told += f" on {', '.join(runtimes)}" * bool(runtimes)
    many = "s" * (len(hosts) > 1)
    return told + f"; host{many} {', '.join(hosts)}" * bool(hosts)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _words(told: Said, damaged: Sequence[str]) -> Iterator[str]:
    theirs = [why.sentence for why in told.causes if why.status == "imported"]
    own = [f"{w.status}, {w.sentence}" for w in told.causes if w.status != "imported"]
    yield from _list(HEADING, told.noticed)
    yield from _list(f"which is the {FASTEST}", told.fastest)
    yield from _list("what other programs measured", theirs)
    yield from _list("what failed, and why", [*damaged, *own])
    yield from _list("what not to trust", told.doubts, "ol")
    yield from _list(SURE, told.sure)


def _list(heading: str, sentences: Sequence[str], kind: str = "ul") -> Iterator[str]:
    if sentences:
        items = "".join(f"<li>{safe(sentence)}</li>\n" for sentence in sentences)
        yield f'<h2>{heading.capitalize()}</h2>\n<{kind} class="words">\n{items}</{kind}>\n'


def _table(
    measured: Sequence[Measured], percentiles: Sequence[str], marked: Mapping[str, str]
) -> Iterator[str]:
    rows = [one.row for one in measured]
    varied, common = varied_and_common(rows)
    columns = all_columns(rows, marked, varied, False, percentiles)
    yield "<h2>Rows</h2>\n"
    yield '<div class="filter"><label>Filter <input type="search" placeholder="words of a row">'
    yield '</label><span class="shown quiet" aria-live="polite"></span></div>\n'
    yield f"{scrolled('rows')}<table><caption>"
    yield f"every measured row: {safe(', '.join(common))}" if common else "one row for each case"
    yield "</caption><thead><tr>"
    for column in columns:
        kind = ' class="figure"' if column.figure else ""
        yield f'<th scope="col"{kind}><button type="button">{safe(column.heading)}</button></th>'
    yield "</tr></thead>\n<tbody>\n"
    for row in rows:
        yield f'<tr data-case="{row["case_id"]}">'
        for column in columns:
            doubted = str(row["case_id"]) in marked
            yield _cell(column, row, doubted)
        yield "</tr>\n"
    yield "</tbody></table></div>\n"


def _cell(column: TableColumn, row: Row, doubted: bool) -> str:
    text = safe(column.cell(row))
    if column.heading == "status":
        facts = next((facts for name, facts in STATUSES.items() if name == row["status"]), None)
        tone = "warning" if facts is None or (facts.tone == "ok" and doubted) else facts.tone
        reason = f' title="{safe(str(row["reason"]))}"' if row["reason"] else ""
        return f'<td class="{tone}"{reason}>{text}</td>'
    if not column.figure:
        return f"<td>{text}</td>"
    value = row[column.figure]
    told = "" if value is None else escape(str(value))
    return f'<td class="figure" data-value="{told}">{text}</td>'


def _figures(
    cases: Sequence[Shown], largest: Figure | None, together: Figure | None
) -> Iterator[str]:
    if not cases and largest is None:
        return
    yield "<h2>Figures</h2>\n"
    overview = {
        "Times the best median of each model, of one clock and one precision": figures.heatmap(
            cases
        ),
        "Top-1 over throughput": reach.accuracy(cases),
        "The largest batch that ran, and what stopped the next": largest,
        "Throughput of several machines together": together,
        "How full the simulated cards are": card.fit(cases),
    }
    for heading, figure in overview.items():
        if figure is not None:
            yield _figure(figure, heading)
    for heading, drawn in of_cards(cases):
        yield f"<p>{drawn}</p>\n" if isinstance(drawn, str) else _figure(drawn, heading)
    names = model_labels(str(one.row["model"]) for one in cases)
    for model, label in names.items():
        group = [one for one in cases if one.row["model"] == model]
        yield f"<h3>{safe(label)}</h3>\n"
        for heading, made in (figures.FIGURES | reach.OF_A_MODEL).items():
            figure = made(group)
            if figure is not None:
                yield _figure(figure, f"{heading} of {safe(label)}")
        for heading, figure in of_operators(group):
            yield _figure(figure, heading)
        for one in group:
            one.forget()


def _figure(figure: Figure, told: str) -> str:
    """`told` is escaped."""
    figure.update_layout(template="none")
    data: dict[str, Any] = json.loads(figure.to_json())
    # `<` of a name must not end the element that holds it.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<figure><figcaption>{told} <span class="count"></span></figcaption>'
        f'<div class="plot"{_room(data)} role="img" '
        f'aria-label="{told}; the figures are in the table"></div>'
        f'<script type="application/json">{text}</script></figure>\n'
    )


def _room(figure: Mapping[str, Any]) -> str:
    """As high as the figure will be, where it says so itself: it is drawn only when it is seen."""
    height = figure["layout"].get("height")
    return f' style="min-height:{height}px"' if isinstance(height, int) else ""


def _asset(name: str) -> str:
    return own.asset("report", name).read_text("utf-8")
