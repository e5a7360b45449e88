"""What the commands that measure have in common: what is named, what is written, and the run."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path

from app.cases.errors import PlanError
from app.commands.cache import limit_cache
from app.commands.output import add_format, add_verbose
from app.commands.settings import add_settings, completed
from app.console.output_files import refuse_outputs
from app.plan.plan_files import suite_names
from app.plan.settings.table import accepted_by
from app.run_folder.manifest import MANIFEST
from exporters.models import catalogue


def add_models(parser: argparse.ArgumentParser) -> None:
    """What is measured, as arguments; by flags, as command lines had it before."""
    parser.add_argument(
        "named",
        nargs="*",
        metavar="MODEL",
        help="models (.onnx files, patterns, folders, names of the catalogue, file.py:factory, "
        "hf:folder), or one suite, plan file or run folder to repeat",
    )


_NAMED = ("models", "suite", "plan")
"""Settings that are arguments of a command; as options they stay readable."""


def add_run_options(
    parser: argparse.ArgumentParser,
    command: str,
    *,
    brief: bool = True,
    apart: Collection[str] = (),
) -> None:
    """The settings of a command that measures, but for those that it has `apart`, and output."""
    accepted = {setting.key for setting in accepted_by(command)}
    add_settings(parser, command, brief, {*_NAMED, *apart})
    for key in accepted & set(_NAMED):
        parser.add_argument(f"--{key}", help=argparse.SUPPRESS)
    parser.add_argument("--headless", action="store_true", help=argparse.SUPPRESS)
    add_format(parser)
    add_verbose(parser)


def with_models(options: argparse.Namespace) -> argparse.Namespace:
    """The options with the arguments as what they are: models, a suite, a plan, or a run.

    PlanError for an argument that is neither, and for two plans.
    """
    if not options.named:
        return options
    given = argparse.Namespace(**vars(options))
    for attribute, matches in (("plan", is_plan), ("suite", is_suite)):
        whole = [word for word in options.named if matches(word)]
        if whole and (len(options.named) > 1 or options.plan or options.suite):
            raise PlanError(f"{whole[0]} is a whole plan", "Name it alone, or name models")
        if whole:
            setattr(given, attribute, whole[0])
            return given
    if options.models:
        raise PlanError(
            "models are given as arguments and by --models", "Give all of them as arguments"
        )
    given.models = ",".join(part for word in options.named for part in files_of(word))
    given.models_named = True
    return given


def measure(options: argparse.Namespace) -> int:
    """Measure what the options say; returns the exit code."""
    from app.headless import run_headless

    refuse_outputs(options)
    if options.cache_limit is not None:
        limit_cache(options.cache_limit, "--cache-limit")
    return run_headless(completed(options))


def is_plan(word: str) -> bool:
    """Whether the word names a plan file, or a run folder whose plan is measured once more."""
    return word.endswith(".toml") or (Path(word) / MANIFEST).is_file()


def is_suite(word: str) -> bool:
    """Whether the word names a suite; a model of the catalogue comes first."""
    return word in suite_names() and word not in catalogue.names()


def files_of(word: str) -> list[str]:
    """The models that the word names: of a folder its .onnx files."""
    path = Path(word)
    if not path.is_dir():
        return [word]
    found = sorted(map(str, path.glob("*.onnx")))
    if not found:
        raise PlanError(f"{word}: there is no .onnx file in this folder", "Name a file or a run")
    return found
