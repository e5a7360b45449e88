"""The page of a study: the question and the machine, the document's own tables, then how they were
measured, what is missing, warnings, and the command that repeats it."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Any

from app.machine.available import clock_of
from app.plan.plan import Plan
from app.plan.studies import CHANGED, load_study
from app.present.document import Block, Command, Heading, Paragraph, Picture, Points, within
from app.present.markdown import as_markdown
from app.results.atomic import write_atomically
from app.studies.conditions import conditions, machines
from app.studies.found import Found
from app.studies.missing import missing
from app.studies.study import Study, Whole

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
            Command(command_line(study.name, whole, found.run.manifest.asked)),
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
                yield within(block, whole.folder_of(part))


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
    for row in CHANGED:
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
