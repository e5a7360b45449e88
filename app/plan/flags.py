"""The command line: what it may say, and the plan that it amounts to."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from app.cases.axes import AXES, whole
from app.cases.case import WAIT_POLICIES
from app.cases.errors import PlanError, suggestion
from app.plan.duration import parse_duration
from app.plan.plan import Plan, load_plan, load_suite, parse_plan, parse_size

T = TypeVar("T")
_EPILOG = """\
examples:
  graphlap runs/nets
  graphlap --headless --suite starter
  graphlap --headless --models cnn_tiny,lstm_tiny --runtimes ort-cpu --scenario paced:20us
  graphlap --headless --models "nets/*.onnx" --batch 1,2,4 --profile standard --out runs/nets
  graphlap --headless --models mlp --option ort-cpu.graph_optimization=all,basic,off
  graphlap --headless --models resnet18_v1 --largest-batch --memory-limit 8GiB
  graphlap --resume runs/nets
  graphlap --headless --plan runs/nets
  graphlap --compare runs/before runs/after --fail-on slower --markdown

exit codes: 0 all rows are well, 1 a row failed or was not come to, nothing could be measured,
a disk failed, the table could not be printed,
or --doctor found a broken runtime, 2 the command or the plan is wrong and nothing was written,
3 --compare found a case slower and --fail-on asked for that, 130 interrupted. Ctrl-C once
ends after the block in flight, twice at once; --resume goes on from there.
"""


_OF_EVERY_RUN = frozenset({"headless", "cache_limit", "export", "sort", "strict", "debug"})
"""What may be said of any run; all other flags are of its plan, or other commands."""


class _Parser(argparse.ArgumentParser):
    """Mistakes become a PlanError in one sentence, with the nearest flag."""

    def error(self, message: str) -> NoReturn:
        raise PlanError(message, "see graphlap --help")


def parser() -> argparse.ArgumentParser:
    """All flags, grouped as they are used."""
    top = _Parser(
        prog="graphlap",
        description="Lap times for ONNX graphs: one graph, every runtime, the whole latency "
        "distribution. Without --headless, --resume, --list or --doctor it opens the window.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="for the window: a run folder to open, a plan or .onnx files for its editor",
    )
    mode = top.add_argument_group("what to do")
    mode.add_argument("--headless", action="store_true", help="measure without a window")
    mode.add_argument("--list", action="store_true", help="list the models, or those of --suite")
    mode.add_argument("--format", default="table", help="of --list: table, csv or json")
    mode.add_argument("--doctor", action="store_true", help="what is here, what is missing")
    mode.add_argument(
        "--install-desktop",
        action="store_true",
        help="put the window among the desktop's applications",
    )
    mode.add_argument("--cache-info", action="store_true", help="what the cache holds")
    mode.add_argument("--cache-clear", action="store_true", help="empty the cache, engines too")
    mode.add_argument("--cache-limit", metavar="SIZE", help="what it may hold; default 16GiB")
    mode.add_argument(
        "--compare", nargs=2, metavar=("A", "B"), help="two run folders, case by case"
    )
    mode.add_argument("--resume", metavar="DIR", help="measure what a run folder still lacks")
    what = top.add_argument_group("what to measure")
    what.add_argument("--suite", metavar="NAME", help="a plan that ships, such as starter")
    what.add_argument(
        "--plan", metavar="FILE|RUN", help="a plan of your own, in TOML, or a run folder to repeat"
    )
    what.add_argument(
        "--models",
        metavar="A,B,…",
        help="names of --list, .onnx paths or globs, file.py:factory, hf:folder; comma-separated",
    )
    what.add_argument("--runtimes", metavar="A,B,…", help="default: all that are available")
    what.add_argument("--batch", metavar="N,…", help="batch sizes")
    what.add_argument(
        "--axis", metavar="NAME=N,…", action="append", default=[], help="sizes of any other axis"
    )
    for axis in AXES:
        what.add_argument(axis.flag, metavar=axis.metavar, help=axis.help)
    what.add_argument(
        "--option",
        metavar="RUNTIME.NAME=V,…",
        action="append",
        default=[],
        help="values of a runtime's option, each a case of its own",
    )
    what.add_argument("--wait", metavar="POLICY", help="in a gap: spin (default), hybrid or sleep")
    what.add_argument(
        "--accuracy",
        metavar="PATH",
        help="test each model on a folder of classes, or an .npz of images and labels",
    )
    what.add_argument(
        "--profile-ops",
        action="store_true",
        help="tell the times of the operators too, in processes of their own",
    )
    what.add_argument(
        "--largest-batch",
        action="store_true",
        help="search for the largest batch that fits, from --batch or 1 on",
    )
    against = top.add_argument_group("of --compare")
    against.add_argument("--band", metavar="P", help="a change within this is none; default 2%%")
    against.add_argument("--fail-on", metavar="slower", help="exit with 3 if a case is slower")
    against.add_argument("--markdown", action="store_true", help="print Markdown")
    against.add_argument("--json", metavar="FILE", help="write the verdicts as JSON")
    against.add_argument("--junit", metavar="FILE", help="write them as JUnit XML")
    own = top.add_argument_group("of your own")
    own.add_argument("--weights", metavar="FILE", help="safetensors for the models named")
    own.add_argument(
        "--inputs", metavar="FILE,…", help=".npz of inputs by name, or several sets; default: drawn"
    )
    own.add_argument(
        "--input-range",
        metavar="NAME=LO:HI",
        action="append",
        default=[],
        help="what an input is drawn from; integers take both ends",
    )
    own.add_argument(
        "--rotate-inputs",
        action="store_true",
        help="feed another set from run to run: those of --inputs, or eight that are drawn",
    )
    own.add_argument(
        "--save-inputs", action="store_true", help="keep what was fed in the run folder"
    )
    own.add_argument(
        "--state",
        metavar="OUT=IN",
        action="append",
        default=[],
        help="an output that becomes this input in the next run",
    )
    own.add_argument("--calibration", metavar="FILE", help=".npz of samples for int8")
    own.add_argument("--from-node", metavar="A,B", help="measure part of an .onnx, from here")
    own.add_argument("--to-node", metavar="A,B", help="to here")
    own.add_argument(
        "--custom-ops",
        metavar="FILE",
        action="append",
        default=[],
        help="a library of operators for ONNX Runtime",
    )
    how = top.add_argument_group("how long, and where to")
    how.add_argument(
        "--profile", metavar="NAME", help="glance, quick (default), standard or publication"
    )
    how.add_argument("--rounds", metavar="N", help="processes per case, instead of the profile's")
    how.add_argument(
        "--time-limit", metavar="TIME", help="when a round or an export is ended, such as 90s, 2m"
    )
    how.add_argument(
        "--budget", metavar="TIME", help="of the whole run: first one round of each case, then more"
    )
    how.add_argument(
        "--memory-limit",
        metavar="SIZE",
        help="of the host's memory that a measuring process may hold, such as 8GiB",
    )
    how.add_argument("--unchecked", action="store_true", help="compare no outputs")
    how.add_argument(
        "--tolerance",
        metavar="X",
        help="what outputs may be off by, of their largest; default: as their types round",
    )
    how.add_argument("--seed", metavar="N", help="of the order of rounds and of all that is drawn")
    how.add_argument("--out", metavar="DIR", help="a new run folder; default: graphlap-results/…")
    how.add_argument("--export", metavar="parquet", help="write rows and samples as Parquet too")
    how.add_argument(
        "--sort", metavar="COLUMN", help="order of the table at the end: p99, model, batch_size, …"
    )
    how.add_argument(
        "--strict", action="store_true", help="unavailable, unsupported and partial rows fail too"
    )
    how.add_argument("--debug", action="store_true", help="show tracebacks")
    return top


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The flags; PlanError for one that is not known."""
    known = parser()
    flags, rest = known.parse_known_args(arguments)
    if rest:
        names = [name for action in known._actions for name in action.option_strings]
        raise PlanError(f"{rest[0]} is not known", suggestion(rest[0].partition("=")[0], names))
    if flags.paths and (flags.headless or flags.resume is not None):
        raise PlanError(
            f"{flags.paths[0]} would be opened in the window, and none is asked for",
            "name models with --models, a plan with --plan",
        )
    if flags.fail_on not in (None, "slower"):
        raise PlanError(
            f"--fail-on {flags.fail_on} is not known", suggestion(flags.fail_on, ["slower"])
        )
    if flags.compare is None:
        for name in ("band", "fail_on", "markdown", "json", "junit"):
            if getattr(flags, name):
                flag = f"--{name.replace('_', '-')}"
                raise PlanError(f"{flag} belongs to --compare", "name two run folders with it")
    if flags.export not in (None, "parquet"):
        raise PlanError(
            f"--export {flags.export} is not known", suggestion(flags.export, ["parquet"])
        )
    return flags


def refuse_with_resume(flags: argparse.Namespace) -> None:
    """A resumed run repeats its own plan, so nothing about it can be said again; PlanError."""
    _refuse_but(_OF_EVERY_RUN | {"resume"}, flags, "the run in --resume")


def refuse_with_run_as_plan(flags: argparse.Namespace) -> None:
    """A run that is repeated likewise; only where to is new."""
    _refuse_but(_OF_EVERY_RUN | {"plan", "out"}, flags, "the run in --plan")


def _refuse_but(allowed: Collection[str], flags: argparse.Namespace, settler: str) -> None:
    for action in parser()._actions:
        free = action.dest in allowed or not action.option_strings
        if not free and getattr(flags, action.dest, action.default) != action.default:
            flag = action.option_strings[0]
            raise PlanError(f"{flag} says what {settler} has settled", "leave it out")


def share_of(text: str, flag: str) -> float:
    """0.02 of `2%` or of `0.02`; PlanError if it is no share between 0 and 1."""
    word = text.strip()
    try:
        share = float(word.removesuffix("%")) / (100.0 if word.endswith("%") else 1.0)
    except ValueError:
        share = -1.0
    if not 0.0 <= share < 1.0:
        raise PlanError(f"{flag} {text!r} is no share", "write it as 2% or as 0.02")
    return share


def size_of(text: str, flag: str) -> int:
    """Bytes of a size like 8GiB; PlanError if it is none."""
    try:
        return parse_size(text)
    except ValueError as error:
        cause, _, remedy = f"{flag} {text!r} {error}".partition("; ")
        raise PlanError(cause, remedy) from None


def plan_from_flags(flags: argparse.Namespace) -> Plan:
    """The plan of --suite or --plan with the other flags laid over it, or of the flags alone.

    A list that a flag gives replaces the plan's in each of its grids; --models keeps of a
    suite's or a plan's models those that it names.
    """
    if flags.suite and flags.plan:
        raise PlanError("--suite and --plan name two plans", "give one of them")
    given = _grid(flags)
    models = _words(flags.models, "--models")
    if flags.suite or flags.plan:
        base = load_suite(flags.suite) if flags.suite else load_plan(Path(flags.plan))
        data = base.model_dump(exclude_unset=True)
        sweeps = [_kept(grid, models) for grid in data["sweeps"]]
        _refuse_absent(models, data["sweeps"])
        data["sweeps"] = [{**grid, **given} for grid in sweeps if grid["models"]]
    elif models:
        data = {"sweeps": [{"models": models, **given}]}
    else:
        raise PlanError("there is nothing to measure", "give --models, --suite or --plan")
    return parse_plan({**data, **_lengths(flags), **_wanted(flags)}, "the command line")


def _grid(flags: argparse.Namespace) -> dict[str, Any]:
    """What the flags say of every grid, in the words of `app.plan.plan.Sweep`."""
    given: dict[str, Any] = {}
    if flags.runtimes is not None:
        given["runtimes"] = _words(flags.runtimes, "--runtimes")
    for axis in AXES:
        text = getattr(flags, axis.flag[2:])
        if text is not None:
            words = _words(text, axis.flag)
            given[axis.key] = [_parsed(axis.parse, word, axis.flag) for word in words]
    if flags.batch is not None:
        given["batch_size"] = _numbers(flags.batch, "--batch", least=1)
    if flags.wait is not None:
        given["wait_policy"] = _one_of(flags.wait, WAIT_POLICIES, "--wait")
    if flags.axis:
        pairs = [_pair(text, "--axis", "name=1,2,4") for text in flags.axis]
        given["axes"] = {n: _numbers(v, f"--axis {n}", least=1) for n, v in pairs}
    if flags.option:
        pairs = [_pair(text, "--option", "runtime.name=value") for text in flags.option]
        given["options"] = {n: _words(v, f"--option {n}") for n, v in pairs}
    return given


def _lengths(flags: argparse.Namespace) -> dict[str, Any]:
    """What the flags say of the whole plan."""
    given: dict[str, Any] = {}
    if flags.profile is not None:
        given["profile"] = flags.profile
    for name in ("accuracy", "weights", "inputs", "calibration"):
        if getattr(flags, name) is not None:
            given[name] = getattr(flags, name)
    for flag, name in (("--from-node", "from_nodes"), ("--to-node", "to_nodes")):
        words = _words(getattr(flags, flag[2:].replace("-", "_")), flag)
        if words:
            given[name] = words
    if flags.custom_ops:
        given["custom_ops"] = [w for text in flags.custom_ops for w in _words(text, "--custom-ops")]
    if flags.unchecked:
        given["checked"] = False
    if flags.tolerance is not None:
        given["tolerance"] = _parsed(_amount, flags.tolerance, "--tolerance")
    if flags.rounds is not None:
        given["rounds"] = _number(flags.rounds, "--rounds", least=1)
    if flags.seed is not None:
        given["seed"] = _number(flags.seed, "--seed", least=0)
    for flag, name in (("--time-limit", "time_limit_s"), ("--budget", "budget_s")):
        text = getattr(flags, flag[2:].replace("-", "_"))
        if text is not None:
            given[name] = _parsed(parse_duration, text, flag)
    return given


def _wanted(flags: argparse.Namespace) -> dict[str, Any]:
    """What the flags add to the plan as a whole, beside its lengths."""
    given: dict[str, Any] = {}
    if flags.profile_ops:
        given["profile_ops"] = True
    if flags.largest_batch:
        given["largest_batch"] = True
    if flags.rotate_inputs:
        given["rotate_inputs"] = True
    if flags.save_inputs:
        given["save_inputs"] = True
    if flags.input_range:
        form = "name=low:high"
        pairs = [_pair(text, "--input-range", form) for text in flags.input_range]
        given["input_range"] = {name: _ends(text, name) for name, text in pairs}
    if flags.state:
        given["states"] = dict(_pair(text, "--state", "output=input") for text in flags.state)
    if flags.memory_limit is not None:
        size_of(flags.memory_limit, "--memory-limit")
        given["memory_limit"] = flags.memory_limit
    return given


def _ends(text: str, name: str) -> tuple[float, float]:
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise PlanError(
            f"--input-range {name}={text} is no range", f"write it as {name}=0:1"
        ) from None


def _kept(grid: dict[str, Any], models: Sequence[str]) -> dict[str, Any]:
    kept = [model for model in grid["models"] if not models or model in models]
    return {**grid, "models": kept}


def _refuse_absent(models: Sequence[str], grids: Sequence[dict[str, Any]]) -> None:
    known = list(dict.fromkeys(model for grid in grids for model in grid["models"]))
    for model in models:
        if model not in known:
            raise PlanError(f"the plan has no model {model!r}", suggestion(model, known))


def _words(text: str | None, flag: str) -> list[str]:
    if text is None:
        return []
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise PlanError(f"{flag} {text!r} has an empty part", "separate values by one comma")
    return words


def _numbers(text: str, flag: str, least: int) -> list[int]:
    return [_number(word, flag, least) for word in _words(text, flag)]


def _number(text: str, flag: str, least: int) -> int:
    return _parsed(partial(whole, least=least), text, flag)


def _amount(word: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = -1.0
    if not 0 <= number < math.inf:
        raise ValueError(f"{word} is no number of at least 0; give one, such as 1e-3")
    return number


def _parsed(parse: Callable[[str], T], word: str, flag: str) -> T:
    """What a word of a flag means; PlanError if it means nothing."""
    try:
        return parse(word)
    except ValueError as error:
        cause, _, remedy = f"{flag} {error}".partition("; ")
        raise PlanError(cause, remedy) from None


def _one_of(word: str, known: Sequence[str], flag: str) -> str:
    if word not in known:
        raise PlanError(f"{flag} {word} is not known", suggestion(word, known))
    return word


def _pair(text: str, flag: str, form: str) -> tuple[str, str]:
    name, equals, values = text.partition("=")
    if not (name and equals and values):
        raise PlanError(f"{flag} {text!r} can't be understood", f"write it as {flag} {form}")
    return name, values
