"""The plan that the flags of a command line amount to."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from app.cases.axes import AXES
from app.cases.cold_start import PageCache
from app.cases.duration import parse_duration, parse_spread
from app.cases.errors import PlanError, suggestion
from app.cases.scenario import WAIT_POLICIES
from app.machine.available import all_names
from app.machine.cores import listed, usable_cores
from app.plan.checking import of_a_check
from app.plan.deadline import parse_deadline
from app.plan.flag_words import (
    amount_of,
    environment_pair,
    number_of,
    numbers_of,
    one_of,
    pair_of,
    parsed,
    percentile_of,
    range_of,
    share_of,
    size_of,
    words_of,
)
from app.plan.gaps import paced_scenarios
from app.plan.plan import Plan, parse_plan
from app.plan.plan_files import load_plan, load_suite
from app.plan.studies import adjusted, load_study, refuse_fixed, with_devices
from app.plan.unread import refuse_unread
from app.tune.values import threads_of
from exporters.types import PRECISIONS

ALL_RUNTIMES = "all"
"""Stands for every runtime of the table, here or not."""


def plan_from_flags(flags: argparse.Namespace) -> Plan:
    """The plan of --suite, --plan or --study with other flags laid over it, or of flags alone.

    A list that a flag gives replaces the plan's in each of its grids; --models keeps of a
    suite's or a plan's models those that it names. Of --study the lists in `FLAGS` of
    `app.plan.studies` are replaced unless the study fixes them.
    """
    if flags.suite and flags.plan:
        raise PlanError("--suite and --plan name two plans", "give one of them")
    given = _grid(flags)
    models = words_of(flags.models, "--models")
    if flags.study is not None:
        data = load_study(flags.study).model_dump(exclude_unset=True)
        refuse_fixed(flags.study, given)
        _refuse_absent(models, data["sweeps"])
        sweeps = [_kept(grid, models) for grid in data["sweeps"]]
        named = [adjusted(grid, given) for grid in sweeps if grid["models"]]
        data["sweeps"] = [part for grid in named for part in with_devices(grid)]
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
    whole = of_whole_plan(flags)
    plan = parse_plan({**data, **whole}, "the command line")
    refuse_unread(plan, {*given, *whole})
    return plan


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
        words = words_of(flags.runtimes, "--runtimes")
        named = [all_names() if word == ALL_RUNTIMES else (word,) for word in words]
        given["runtimes"] = list(dict.fromkeys(name for names in named for name in names))
    for axis in AXES:
        said = getattr(flags, axis.flag[2:])
        if said is not None:
            words = said if axis.repeated else words_of(said, axis.flag)
            given[axis.key] = [parsed(axis.parse, word, axis.flag) for word in words]
    if flags.gaps is not None:
        paced = parsed(paced_scenarios, flags.gaps, "--gaps")
        given["scenarios"] = [*given.get("scenarios", ()), *paced]
    if flags.replicas is not None:
        given["replicas"] = numbers_of(flags.replicas, "--replicas", least=1)
    if flags.batch is not None:
        given["batch_size"] = numbers_of(flags.batch, "--batch", least=1)
    if flags.wait is not None:
        given["wait_policy"] = one_of(flags.wait, WAIT_POLICIES, "--wait")
    if flags.axis:
        pairs = [pair_of(text, "--axis", "name=1,2,4", name_has_equals=True) for text in flags.axis]
        given["axes"] = {n: numbers_of(v, f"--axis {n}", least=1) for n, v in pairs}
    if flags.option:
        pairs = [pair_of(text, "--option", "runtime.name=value") for text in flags.option]
        given["options"] = {n: words_of(v, f"--option {n}") for n, v in pairs}
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
        words = words_of(getattr(flags, flag[2:].replace("-", "_")), flag)
        if words:
            given[name] = words
    if flags.custom_ops:
        given["custom_ops"] = [
            w for text in flags.custom_ops for w in words_of(text, "--custom-ops")
        ]
    if flags.unchecked:
        given["checked"] = False
    if flags.tolerance is not None:
        given["tolerance"] = parsed(amount_of, flags.tolerance, "--tolerance")
    if flags.percentiles is not None:
        words = words_of(flags.percentiles, "--percentiles")
        given["percentiles"] = [parsed(percentile_of, word, "--percentiles") for word in words]
    if flags.precise is not None:
        form = "p50=1%,p99=10%"
        pairs = [pair_of(w, "--precise", form) for w in words_of(flags.precise, "--precise")]
        given["precise"] = {name: share_of(text, f"--precise {name}=") for name, text in pairs}
    if flags.deadline is not None:
        given["deadline_us"] = parsed(parse_deadline, flags.deadline, "--deadline")
    if flags.rounds is not None:
        given["rounds"] = number_of(flags.rounds, "--rounds", least=1)
    if flags.seed is not None:
        given["seed"] = number_of(flags.seed, "--seed", least=0)
    if flags.baseline is not None:
        given["baseline"] = flags.baseline
    if flags.anchor is not None:
        given["anchor"] = flags.anchor
    if flags.aa is not None:
        given["aa"] = number_of(flags.aa, "--aa", least=1)
    if flags.band is not None:
        given["band"] = share_of(flags.band, "--band")
    if flags.judge is not None:
        given["judge"] = words_of(flags.judge, "--judge")
    if flags.spread is not None:
        given["spread_s"] = parsed(parse_spread, flags.spread, "--spread")
    for flag, name in (("--time-limit", "time_limit_s"), ("--budget", "budget_s")):
        text = getattr(flags, flag[2:].replace("-", "_"))
        if text is not None:
            given[name] = parsed(parse_duration, text, flag)
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
        given["cold_start"] = number_of(flags.cold_start, "--cold-start", least=1)
    if flags.page_cache is not None:
        given["page_cache"] = one_of(flags.page_cache, get_args(PageCache), "--page-cache")
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
        pairs = [
            pair_of(text, "--input-range", form, name_has_equals=True) for text in flags.input_range
        ]
        given["input_range"] = {name: range_of(text, name) for name, text in pairs}
    if flags.environment:
        given["environments"] = dict(map(environment_pair, flags.environment))
    if flags.state:
        given["states"] = dict(pair_of(text, "--state", "output=input") for text in flags.state)
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
        given["realtime"] = number_of(flags.realtime, "--realtime", least=1)
    return given


def budget_of(text: str) -> float:
    """The seconds of `--budget`; PlanError for what is no duration."""
    return parsed(parse_duration, text, "--budget")


def elsewhere(flags: argparse.Namespace) -> dict[str, Any]:
    """What they say of other machines; a resumed run may go on with others."""
    given: dict[str, Any] = {}
    if flags.cluster is not None:
        given["cluster"] = flags.cluster
    for name in ("per_host", "send_code", "insecure_cluster"):
        if getattr(flags, name):
            given[name] = True
    return given


def _kept(grid: dict[str, Any], models: Sequence[str]) -> dict[str, Any]:
    kept = [model for model in grid["models"] if not models or model in models]
    return {**grid, "models": kept}


def _refuse_absent(models: Sequence[str], grids: Sequence[dict[str, Any]]) -> None:
    known = list(dict.fromkeys(model for grid in grids for model in grid["models"]))
    for model in models:
        if model not in known:
            raise PlanError(f"the plan has no model {model!r}", suggestion(model, known))
