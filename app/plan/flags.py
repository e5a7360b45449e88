"""What a command line says, and the plan that it amounts to."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args

from app.cases.axes import AXES, whole
from app.cases.cold_start import PageCache
from app.cases.duration import parse_duration
from app.cases.errors import PlanError, suggestion
from app.cases.scenario import WAIT_POLICIES
from app.cases.size import parse_size
from app.machine.available import all_names
from app.machine.cores import listed, usable_cores
from app.plan.checking import of_a_check
from app.plan.deadline import parse_deadline
from app.plan.gaps import paced_scenarios
from app.plan.parser import parser
from app.plan.plan import Plan, load_plan, load_suite, parse_plan
from app.plan.studies import load_study, with_runtimes
from app.tune.values import threads_of
from exporters.types import PRECISIONS

T = TypeVar("T")
_OF_VERDICTS = ("fail_on", "markdown", "json", "junit")
"""How verdicts are told, whichever comparison they are of."""
ALL_RUNTIMES = "all"
"""Stands for every runtime of the table, here or not."""
_RUNS = ("headless", "resume")
_BELONGS = {
    "baseline_run": _RUNS,
    "fail_on": ("compare", "history", *_RUNS),
    "json": ("compare", "history", *_RUNS),
    "markdown": ("compare", "check", *_RUNS),
    "junit": ("compare", *_RUNS),
    "csv": ("history",),
    "output": ("report",),
    "plot": ("history", *_RUNS),
    "any_host": ("history",),
}
"""Flags of a command -> the commands that take them."""
_OF_EVERY_RUN = frozenset(
    {
        "headless",
        "study",
        "cache_limit",
        "export",
        "plot",
        "sort",
        "strict",
        "debug",
        "baseline_run",
        *_OF_VERDICTS,
    }
)
"""What may be said of any run; all other flags are of its plan, or other commands."""
_OF_EVERY_STUDY = frozenset({"headless", "study", "cache_limit", "export", "strict", "debug"})
_OF_A_NEW_STUDY = frozenset(
    {
        "models",
        "runtimes",
        "environment",
        "profile",
        "rounds",
        "budget",
        "time_limit",
        "memory_limit",
        "seed",
        "cores",
        "lock_memory",
        "realtime",
        "out",
    }
)
"""A part of it, how long, where: what is measured, and under what, the study says itself."""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The flags; PlanError for one that is not known."""
    known = parser()
    flags, rest = known.parse_known_args(arguments)
    if rest:
        names = [name for action in known._actions for name in action.option_strings]
        raise PlanError(f"{rest[0]} is not known", suggestion(rest[0].partition("=")[0], names))
    if flags.imports:
        refuse_with_import(flags)
    if flags.study is not None:
        refuse_with_study(flags)
    if flags.merge:
        refuse_with_merge(flags)
    begins = flags.headless or flags.check or flags.imports or flags.merge
    if flags.export and not (flags.paths or begins or flags.study or flags.resume is not None):
        raise PlanError(
            "--export belongs to a run", "name run folders beside it, or add --headless or --resume"
        )
    if flags.paths and (begins or flags.resume is not None):
        raise PlanError(
            f"{flags.paths[0]} would be opened in the window, and none is asked for",
            "name models with --models, a plan with --plan",
        )
    if flags.fail_on not in (None, "slower"):
        raise PlanError(
            f"--fail-on {flags.fail_on} is not known", suggestion(flags.fail_on, ["slower"])
        )
    for name, commands in _BELONGS.items():
        if getattr(flags, name) and not any(getattr(flags, command) for command in commands):
            flag = f"--{name.replace('_', '-')}"
            if commands == ("report",):
                raise PlanError(f"{flag} belongs to --report", "add --report RUN, or give --out")
            owner = "a comparison" if "compare" in commands else "--history"
            raise PlanError(
                f"{flag} belongs to {owner}", "add --compare, --history, or --headless --baseline"
            )
    return flags


def refuse_with_resume(flags: argparse.Namespace) -> None:
    """A resumed run repeats its own plan, so nothing about it can be said again; PlanError."""
    allowed = _OF_EVERY_RUN | {"resume", "cluster", "send_code", "insecure_cluster"}
    _refuse_but(allowed, flags, "the run in --resume")


def refuse_with_study(flags: argparse.Namespace) -> None:
    """A study says what it measures, and of a run that is there all is said; PlanError for more."""
    if flags.resume is not None:
        _refuse_but(_OF_EVERY_STUDY | {"resume"}, flags, "the run in --resume")
    elif flags.paths:
        _refuse_but({"study", "debug"}, flags, f"the run {flags.paths[0]}")
    else:
        _refuse_but(_OF_EVERY_STUDY | _OF_A_NEW_STUDY, flags, f"the study {flags.study}")
    if len(flags.paths) > 1:
        raise PlanError(f"--study pages one run, and {len(flags.paths)} are named", "name one")


def refuse_with_check(flags: argparse.Namespace) -> None:
    """What tells or compares figures has none to tell of a check; PlanError."""
    for name in ("baseline_run", "fail_on", "band", "json", "junit", "plot", "sort", "export"):
        if getattr(flags, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            raise PlanError(f"{flag} is of figures, and a check has none", f"leave {flag} out")


def refuse_with_import(flags: argparse.Namespace) -> None:
    """What is imported has been measured; PlanError for what would say how."""
    allowed = {"headless", "imports", "out", "export", "sort", "debug"}
    _refuse_but(allowed, flags, "the measurement behind --import")


def refuse_with_merge(flags: argparse.Namespace) -> None:
    """What is merged has been measured likewise; PlanError."""
    allowed = {"headless", "merge", "out", "export", "sort", "debug"}
    _refuse_but(allowed, flags, "the runs behind --merge")


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
    """The plan of --suite, --plan or --study with other flags laid over it, or of flags alone.

    A list that a flag gives replaces the plan's in each of its grids; --models keeps of a
    suite's or a plan's models those that it names. So it is of --study, whose lists stay, but for
    the runtimes of a grid that names none.
    """
    if flags.suite and flags.plan:
        raise PlanError("--suite and --plan name two plans", "give one of them")
    given = _grid(flags)
    models = _words(flags.models, "--models")
    if flags.study is not None:
        data = load_study(flags.study).model_dump(exclude_unset=True)
        _refuse_absent(models, data["sweeps"])
        sweeps = [_kept(grid, models) for grid in data["sweeps"]]
        asked = given.get("runtimes")
        data["sweeps"] = [with_runtimes(grid, asked) for grid in sweeps if grid["models"]]
    elif flags.suite or flags.plan:
        base = load_suite(flags.suite) if flags.suite else load_plan(Path(flags.plan))
        data = base.model_dump(exclude_unset=True)
        data = of_a_check(data) if flags.check else data
        sweeps = [_kept(grid, models) for grid in data["sweeps"]]
        _refuse_absent(models, data["sweeps"])
        data["sweeps"] = [{**grid, **given} for grid in sweeps if grid["models"]]
    elif models:
        data = {"sweeps": [{"models": models, **given}]}
    else:
        raise PlanError("there is nothing to measure", "give --models, --suite or --plan")
    if flags.tune is not None or (flags.study and data.get("tune")):
        data["sweeps"] = [{**_freedoms(flags), **grid} for grid in data["sweeps"]]
    return parse_plan({**data, **of_whole_plan(flags)}, "the command line")


def _freedoms(flags: argparse.Namespace) -> dict[str, Any]:
    """What a search may choose that a grid without it would have one value of."""
    free: dict[str, Any] = {"threads": threads_of(_cores(flags.cores))}
    if flags.max_error is not None:
        free["precisions"] = PRECISIONS
    return free


def _cores(text: str | None) -> int:
    try:
        return len(listed(text)) if text is not None else len(usable_cores())
    except ValueError:  # the plan says what is wrong with the list
        return 1


def of_whole_plan(flags: argparse.Namespace) -> dict[str, Any]:
    """What the flags say of a plan beside its grids, by its keys and not checked yet; PlanError
    for what means nothing."""
    return {**_lengths(flags), **_wanted(flags)}


def _grid(flags: argparse.Namespace) -> dict[str, Any]:
    """What the flags say of every grid, in the words of `app.plan.plan.Sweep`."""
    given: dict[str, Any] = {}
    if flags.runtimes is not None:
        words = _words(flags.runtimes, "--runtimes")
        named = [all_names() if word == ALL_RUNTIMES else (word,) for word in words]
        given["runtimes"] = list(dict.fromkeys(name for names in named for name in names))
    for axis in AXES:
        said = getattr(flags, axis.flag[2:])
        if said is not None:
            words = said if axis.repeated else _words(said, axis.flag)
            given[axis.key] = [_parsed(axis.parse, word, axis.flag) for word in words]
    if flags.gaps is not None:
        paced = _parsed(paced_scenarios, flags.gaps, "--gaps")
        given["scenarios"] = [*given.get("scenarios", ()), *paced]
    if flags.replicas is not None:
        given["replicas"] = _numbers(flags.replicas, "--replicas", least=1)
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
    if flags.percentiles is not None:
        words = _words(flags.percentiles, "--percentiles")
        given["percentiles"] = [_parsed(_percentile, word, "--percentiles") for word in words]
    if flags.precise is not None:
        form = "p50=1%,p99=10%"
        pairs = [_pair(w, "--precise", form) for w in _words(flags.precise, "--precise")]
        given["precise"] = {name: share_of(text, f"--precise {name}=") for name, text in pairs}
    if flags.deadline is not None:
        given["deadline_us"] = _parsed(parse_deadline, flags.deadline, "--deadline")
    if flags.rounds is not None:
        given["rounds"] = _number(flags.rounds, "--rounds", least=1)
    if flags.seed is not None:
        given["seed"] = _number(flags.seed, "--seed", least=0)
    if flags.baseline is not None:
        given["baseline"] = flags.baseline
    if flags.aa is not None:
        given["aa"] = _number(flags.aa, "--aa", least=1)
    if flags.band is not None:
        given["band"] = share_of(flags.band, "--band")
    for flag, name in (("--time-limit", "time_limit_s"), ("--budget", "budget_s")):
        text = getattr(flags, flag[2:].replace("-", "_"))
        if text is not None:
            given[name] = _parsed(parse_duration, text, flag)
    return given


def _wanted(flags: argparse.Namespace) -> dict[str, Any]:
    """What the flags add to the plan as a whole, beside its lengths."""
    given: dict[str, Any] = {}
    if flags.check:
        given["check"] = True
    if flags.profile_ops:
        given["profile_ops"] = True
    if flags.null:
        given["null"] = True
    if flags.cold_start is not None:
        given["cold_start"] = _number(flags.cold_start, "--cold-start", least=1)
    if flags.page_cache is not None:
        given["page_cache"] = _one_of(flags.page_cache, get_args(PageCache), "--page-cache")
    if flags.largest_batch:
        given["largest_batch"] = True
    if flags.slo is not None:
        given["slo"] = flags.slo
    if flags.tune is not None:
        given["tune"] = flags.tune
    if flags.max_error is not None:
        given["max_error"] = share_of(flags.max_error, "--max-error")
    if flags.rotate_inputs:
        given["rotate_inputs"] = True
    if flags.save_inputs:
        given["save_inputs"] = True
    if flags.input_range:
        form = "name=low:high"
        pairs = [_pair(text, "--input-range", form) for text in flags.input_range]
        given["input_range"] = {name: _ends(text, name) for name, text in pairs}
    if flags.environment:
        given["environments"] = dict(map(environment_pair, flags.environment))
    if flags.state:
        given["states"] = dict(_pair(text, "--state", "output=input") for text in flags.state)
    if flags.memory_limit is not None:
        size_of(flags.memory_limit, "--memory-limit")
        given["memory_limit"] = flags.memory_limit
    if flags.device_memory_limit is not None:
        size_of(flags.device_memory_limit, "--device-memory-limit")
        given["device_memory_limit"] = flags.device_memory_limit
    if flags.cores is not None:
        given["cores"] = flags.cores
    if flags.lock_memory:
        given["lock_memory"] = True
    given |= elsewhere(flags)
    if flags.realtime is not None:
        given["realtime"] = _number(flags.realtime, "--realtime", least=1)
    return given


def elsewhere(flags: argparse.Namespace) -> dict[str, Any]:
    """What they say of other machines; a resumed run may go on with others."""
    given: dict[str, Any] = {}
    if flags.cluster is not None:
        given["cluster"] = flags.cluster
    for name in ("per_host", "send_code", "insecure_cluster"):
        if getattr(flags, name):
            given[name] = True
    return given


def environment_pair(text: str) -> tuple[str, str]:
    """A name and its interpreter; PlanError for what is no such pair."""
    return _pair(text, "--environment", "name=python")


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


def _percentile(word: str) -> float:
    try:
        return float(word.removeprefix("p"))
    except ValueError:
        raise ValueError(f"{word} is no percentile; give numbers, such as 50,99.9") from None


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
