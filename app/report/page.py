"""`graphlap report RUN… -o FILE`: one HTML page that needs no network, for who has no Graphlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from app.cases.disk import unwritable
from app.cases.errors import PlanError
from app.console.damage import damage
from app.console.output_files import PAGE, refuse_output, write_output
from app.machine.environment import graphlap_version
from app.present.html import as_html
from app.present.svg import FILE_LOOK
from app.present.xml import safe_text
from app.report.compared import comparison
from app.report.run_page import run_page
from app.results.compare import side_of
from app.results.labels import model_labels
from app.results.past_variation import history_for
from app.results.rows import Rows
from app.results.verify import Whole, read_whole
from exporters import own

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
    return own.asset("report", name).read_text("utf-8")
