"""The commands that measure: `run`, `check`, `slo`, `tune`, `noise`, `study` and `resume`."""

from __future__ import annotations

import argparse
import glob
from collections.abc import Collection
from pathlib import Path

from app.cases.errors import PlanError
from app.cli.cache import limit_cache
from app.cli.output import add_format, add_verbose
from app.plan.command_line import add_settings, reject_with_study, with_all_settings
from app.plan.plan_files import suite_names
from app.plan.settings.table import accepted_by
from app.present.console.output_files import reject_outputs
from app.run_folder.manifest import MANIFEST
from exporters.foreign_files import FOREIGN_ENDINGS, foreign
from exporters.models import catalogue
from exporters.types import ONNX_ENDING


def add_models(parser: argparse.ArgumentParser) -> None:
    """What is measured, as arguments; by flags, as command lines had it before."""
    parser.add_argument(
        "named",
        nargs="*",
        metavar="MODEL",
        help="models (.onnx files, patterns, folders, names of the catalogue, file.py:factory, "
        "hf:folder), or one suite, plan file or run folder to repeat",
    )


_POSITIONAL_SETTINGS = ("models", "suite", "plan")
"""Settings that are arguments of a command; as options they stay readable."""


def add_run_options(
    parser: argparse.ArgumentParser,
    command: str,
    *,
    brief: bool = True,
    excluded_keys: Collection[str] = (),
) -> None:
    """The settings of a command that measures, but for the `excluded_keys`, and output."""
    accepted_keys = {setting.key for setting in accepted_by(command)}
    add_settings(parser, command, brief, {*_POSITIONAL_SETTINGS, *excluded_keys})
    for key in accepted_keys & set(_POSITIONAL_SETTINGS):
        parser.add_argument(f"--{key}", help=argparse.SUPPRESS)
    add_format(parser)
    add_verbose(parser)


def with_models(options: argparse.Namespace) -> argparse.Namespace:
    """The options with the arguments as what they are: models, a suite, a plan, or a run.

    PlanError for an argument that is neither, and for two plans.
    """
    if not options.named:
        return options
    resolved_options = argparse.Namespace(**vars(options))
    for attribute, matches in (("plan", is_plan), ("suite", is_suite)):
        plan_words = [word for word in options.named if matches(word)]
        if plan_words and (len(options.named) > 1 or options.plan or options.suite):
            raise PlanError(f"{plan_words[0]} is a whole plan", "Name it alone, or name models")
        if plan_words:
            setattr(resolved_options, attribute, plan_words[0])
            return resolved_options
    if options.models:
        raise PlanError(
            "models are given as arguments and by --models", "Give all of them as arguments"
        )
    resolved_options.models = ",".join(part for word in options.named for part in files_of(word))
    resolved_options.models_named = True
    return resolved_options


def measure(options: argparse.Namespace) -> int:
    """Measure what the options say; returns the exit code."""
    from app.cli.request import run_headless

    reject_outputs(options)
    if options.cache_limit is not None:
        limit_cache(options.cache_limit, "--cache-limit")
    return run_headless(with_all_settings(options))


def is_plan(word: str) -> bool:
    """Whether the word names a plan file, or a run folder whose plan is measured once more."""
    return word.endswith(".toml") or (Path(word) / MANIFEST).is_file()


def is_suite(word: str) -> bool:
    """Whether the word names a suite; a model of the catalogue comes first."""
    return word in suite_names() and word not in catalogue.names()


_LEVELS = 3
"""Below a folder: Triton has NAME/VERSION/model.onnx, and weights beside it in one folder more."""


def files_of(word: str) -> list[str]:
    """The models that the word names: of a folder its .onnx files, else patterns of those below."""
    path = Path(word)
    if not path.is_dir():
        return [word]
    patterns: list[str] = []
    others: list[Path] = []
    for level in range(_LEVELS + 1):
        entries = sorted(path.glob("*/" * level + "*"))
        named = [entry for entry in entries if entry.suffix == ONNX_ENDING]
        files = [entry for entry in named if entry.is_file()]
        if level == 0 and files:
            return [str(file) for file in files]
        name = glob.escape(files[0].name) if len({file.name for file in files}) == 1 else "*.onnx"
        pattern = str(Path(glob.escape(word), *"*" * level, name))
        patterns += [pattern] * bool(files) if named == files else map(str, files)
        others += (entry for entry in entries if entry.suffix.lower() in FOREIGN_ENDINGS)
    if patterns:
        return patterns
    if fault := next(filter(None, map(foreign, others)), None):
        raise PlanError(f"{word}: {fault.cause}", fault.remedy)
    raise PlanError(
        f"{word}: there is no .onnx file in this folder or the {_LEVELS} levels below",
        "Name a file or a run",
    )


def add_run(parser: argparse.ArgumentParser) -> None:
    """What to measure, how, and where to; the help has the settings that are used most."""
    add_models(parser)
    add_run_options(parser, "run")


def run_run(options: argparse.Namespace) -> int:
    """Measure; returns the exit code."""
    return measure(with_models(options))


run_slo = run_tune = run_noise = run_run


def add_check(parser: argparse.ArgumentParser) -> None:
    """What to compile and for which runtimes."""
    add_models(parser)
    add_run_options(parser, "check", excluded_keys=("check",))


def run_check(options: argparse.Namespace) -> int:
    """Check; returns the exit code."""
    options.check = True
    check_options = with_models(options)
    check_options.models_named = False  # runtimes that are not installed can be checked too
    return measure(check_options)


def add_slo(parser: argparse.ArgumentParser) -> None:
    """The target, and the settings of a run."""
    add_models(parser)
    parser.add_argument(
        "--target",
        dest="slo",
        metavar="P=TIME",
        required=True,
        help="the percentile and its limit, such as p99=5ms",
    )
    add_run_options(parser, "slo", excluded_keys=("slo",))


def add_tune(parser: argparse.ArgumentParser) -> None:
    """The goal, and the settings of a run."""
    add_models(parser)
    parser.add_argument(
        "--goal",
        dest="tune",
        metavar="GOAL",
        required=True,
        help="p99, mean, throughput, or throughput@p99=10ms",
    )
    parser.add_argument(
        "--max-error", metavar="X", help="allowed output error, such as 2%%: precisions too"
    )
    add_run_options(
        parser,
        "tune",
        excluded_keys=(
            "tune",
            "max_error",
        ),
    )


_COMPARISONS = "20"


def add_noise(parser: argparse.ArgumentParser) -> None:
    """How many comparisons, and the settings of a run."""
    add_models(parser)
    parser.add_argument(
        "-n",
        "--comparisons",
        "--aa",
        dest="aa",
        metavar="N",
        default=_COMPARISONS,
        help=f"comparisons of each case with itself ({_COMPARISONS})",
    )
    add_run_options(parser, "noise", excluded_keys=("aa",))


def add_study(parser: argparse.ArgumentParser) -> None:
    """The study, and a part of it or a run that is there."""
    parser.add_argument("study", metavar="NAME", help="vollo, neurio, dlmark, char-cnn, or a part")
    parser.add_argument("paths", nargs="*", metavar="RUN", help="write the page of a stored run")
    parser.add_argument("--resume", metavar="RUN", help="measure what this run still lacks")
    add_settings(parser, "study", brief=True)


def run_study(options: argparse.Namespace) -> int:
    """Measure and write the page; returns the exit code."""
    from app.cli.study import run_study

    flags = with_all_settings(options)
    reject_with_study(flags)
    if options.cache_limit is not None:
        limit_cache(options.cache_limit, "--cache-limit")
    return run_study(flags)


def add_resume(parser: argparse.ArgumentParser) -> None:
    """The run; of its plan only the budget can be given anew, and where it is measured."""
    parser.add_argument("resume", metavar="RUN", help="the run folder")
    add_run_options(parser, "resume", brief=False)


run_resume = measure
