"""`--study NAME`: measure a study as batch mode measures a plan, then print and write its page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from app.cases.errors import DiskError, PlanError, ResultsError, suggestion
from app.console.lasting import Lasting
from app.console.width import width_of
from app.headless import INTERRUPTED, run_headless
from app.plan.expand import expand
from app.plan.flags import parse, plan_from_flags
from app.plan.plan import Plan
from app.plan.studies import load_study
from app.results.atomic import write_atomically
from app.results.manifest import MANIFEST
from app.results.plain import printable
from app.studies.blocks import Block
from app.studies.found import Found, found_in
from app.studies.markdown import as_markdown
from app.studies.page import PAGE, page, page_of_parts, write_page
from app.studies.printed import as_printed
from app.studies.study import Study, Whole
from app.studies.table import study
from app.sweep.begin import begin, new_path


def run_study(flags: argparse.Namespace) -> int:
    """Measure what the flags ask for, or take the run that they name; returns the exit code.

    PlanError or ResultsError before anything is written.
    """
    asked = study(flags.study)
    if isinstance(asked, Whole):
        return _run_parts(asked, flags)
    plan = load_study(flags.study)
    if flags.paths:
        return tell(asked, found_in(Path(flags.paths[0]), plan))
    if flags.resume is not None:
        found_in(Path(flags.resume), plan)  # refuses another's run before it is gone on with
    return run_headless(flags, then=lambda folder: tell(asked, found_in(folder, plan)))


def tell(asked: Study, found: Found) -> int:
    """Write the page into the run's folder and print it; DiskError if it can't be written."""
    names = _write(asked, found)
    return _print(page(asked, found), [found.run.path / name for name in names])


def _run_parts(whole: Whole, flags: argparse.Namespace) -> int:
    """Every part begins before any is measured, so that what each is to have is settled in its
    folder: --resume goes on with all of them."""
    if flags.paths:
        return _tell_whole(whole, Path(flags.paths[0]))
    root = Path(flags.resume) if flags.resume is not None else _begun(whole, flags)
    there, code = _parts_in(whole, root), 0
    for number, part in enumerate(there, 1):
        folder = root / whole.folder_of(part)
        log = Lasting(sys.stderr)
        log.write(printable(f"{part.title} ({number} of {len(there)}): {folder}") + "\n")
        log.flush()
        again = parse(["--study", part.name, "--resume", str(folder)])
        again.export, again.strict = flags.export, flags.strict
        again.cache_limit, again.debug = flags.cache_limit, flags.debug
        ended = run_headless(again, then=lambda path, part=part: _write_part(part, path))  # type: ignore[misc]
        code = max(code, ended)
        if ended == INTERRUPTED:
            break
    return _tell_whole(whole, root) or code


def _begun(whole: Whole, flags: argparse.Namespace) -> Path:
    """The folder of a new run, with that of each part; PlanError before anything is written."""
    plans = _plans(whole, flags)
    for plan in plans.values():
        expand(plan)
    root = Path(flags.out) if flags.out else new_path(next(iter(plans.values())))
    if root.exists() and any(root.iterdir()):
        raise ResultsError(f"{root} is there already", "give another folder with --out")
    for part in whole.parts:
        if part.name in plans:
            with begin(plans[part.name], root / whole.folder_of(part)):
                pass
    return root


def _plans(whole: Whole, flags: argparse.Namespace) -> dict[str, Plan]:
    """Each part's plan by its name, with its share of the budget; a part that has none of the
    models which are asked for is left out."""
    asked = [word.strip() for word in (flags.models or "").split(",") if word.strip()]
    models = {
        part.name: {model for grid in load_study(part.name).sweeps for model in grid.models}
        for part in whole.parts
    }
    known = sorted(set().union(*models.values()))
    for model in asked:
        if model not in known:
            raise PlanError(f"the study has no model {model!r}", suggestion(model, known))
    plans: dict[str, Plan] = {}
    for part in whole.parts:
        own = [model for model in asked if model in models[part.name]]
        if own or not asked:
            named = ",".join(own) or None
            said = argparse.Namespace(**{**vars(flags), "study": part.name, "models": named})
            plans[part.name] = plan_from_flags(said)
    shares = dict(zip((part.name for part in whole.parts), whole.shares, strict=True))
    total = sum(shares[name] for name in plans)
    return {
        name: plan
        if plan.budget_s is None
        else plan.model_copy(update={"budget_s": plan.budget_s * shares[name] / total})
        for name, plan in plans.items()
    }


def _parts_in(whole: Whole, root: Path) -> list[Study]:
    """Those that the run has; ResultsError where it has none."""
    there = [part for part in whole.parts if (root / whole.folder_of(part) / MANIFEST).exists()]
    if not there:
        raise ResultsError(
            f"{root} has no part of the study {whole.name}",
            f"name a folder that --study {whole.name} made",
        )
    return there


def _tell_whole(whole: Whole, root: Path) -> int:
    """Write the pages and print that of the whole; DiskError if one can't be written."""
    found = {
        part.name: found_in(root / whole.folder_of(part), load_study(part.name))
        for part in _parts_in(whole, root)
    }
    for part in whole.parts:
        if part.name in found:
            _write(part, found[part.name])
    blocks = list(page_of_parts(whole, found))
    try:
        write_atomically(root / PAGE, as_markdown(blocks).encode())
    except OSError as error:
        raise DiskError(f"{root} can't be written ({error.strerror})") from error
    return _print(blocks, [root / PAGE])


def _write_part(part: Study, folder: Path) -> int:
    _write(part, found_in(folder, load_study(part.name)))
    return 0


def _write(asked: Study, found: Found) -> list[str]:
    try:
        return list(write_page(asked, found))
    except OSError as error:
        raise DiskError(f"{found.run.path} can't be written ({error.strerror})") from error


def _print(blocks: Iterable[Block], written: Iterable[Path]) -> int:
    from rich.console import Console

    out = Lasting(sys.stdout)
    width = width_of(out)
    console = Console(file=out, width=width, markup=False, emoji=False, highlight=False)
    for part in as_printed(blocks, width):
        console.print(part)
    for path in written:
        console.print(printable(f"wrote {path}"), soft_wrap=True)
    out.flush()
    return int(out.lost)
