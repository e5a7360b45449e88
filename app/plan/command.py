"""A plan -> the command line that measures the same cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from app.cases.axes import AXES
from app.cases.digits import divided, plain
from app.cases.judged import JUDGED
from app.cases.percentiles import DEFAULT, written
from app.cases.verdict import BAND
from app.plan.command_line import parse
from app.plan.estimate import EXPAND_UP_TO, estimate
from app.plan.expand import expand
from app.plan.flags import plan_from_flags
from app.plan.plan import Plan, Sweep
from app.plan.shell import shell_line
from app.plan.toml_text import plan_toml
from exporters import own
from exporters.types import GraphlapError
from runtimes.options import OptionValue

_REPEATED = frozenset(axis.flag for axis in AXES if axis.repeated)


def command_line(plan: Plan, plan_folder: Path) -> str:
    """One line for a shell: flags if they can say it all, else `--plan` with a file.

    The flags are read back and must give the very same cases and lengths; the file, where
    one is needed, is written to `plan_folder`. A plan of very many cases always gets a file.
    """
    line = flags_line(plan)
    if line is None:
        plan_folder.mkdir(parents=True, exist_ok=True)
        file = plan_folder / f"{plan.name}.toml"
        file.write_text(plan_toml(plan), "utf-8")
        line = _line(["--plan", str(file)])
    return line


def flags_line(plan: Plan) -> str | None:
    """The same where flags can say it all, which are read back; None where they can't."""
    words = flag_words(plan)
    return None if words is None else _line(words)


def flag_words(plan: Plan) -> list[str] | None:
    """The flags alone of such a line, without the program."""
    words = list(_flags(plan))
    return words if _says_the_same(words, plan) else None


def _line(words: Sequence[str]) -> str:
    return shell_line([*own.PROGRAM.split(), "--headless", *words])


def _says_the_same(words: Sequence[str], plan: Plan) -> bool:
    if estimate(plan).cases > EXPAND_UP_TO:
        return False
    try:
        told = plan_from_flags(parse(words))
        besides = {"name", "sweeps"}
        if told.model_dump(exclude=besides) != plan.model_dump(exclude=besides):
            return False
        return [c.case_id for c in expand(told)] == [c.case_id for c in expand(plan)]
    except GraphlapError:
        return False


def _flags(plan: Plan) -> Iterator[str]:
    """The flags of the first grid and of the lengths; what they can't say is left out."""
    sweep = plan.sweeps[0]
    yield from ("--models", ",".join(sweep.models))
    yield from _lists(sweep)
    for name, python in plan.environments.items():
        yield from ("--environment", f"{name}={python}")
    for axis, sizes in sweep.axes.items():
        yield from ("--axis", f"{axis}={_joined(sizes)}")
    for option, values in sweep.options.items():
        yield from ("--option", f"{option}={_joined(values)}")
    if sweep.wait_policy != "spin":
        yield from ("--wait", sweep.wait_policy)
    yield from ("--profile", plan.profile)
    if plan.rounds is not None:
        yield from ("--rounds", str(plan.rounds))
    if plan.percentiles != DEFAULT:
        yield from ("--percentiles", ",".join(map(written, plan.percentiles)))
    if plan.precise:
        asked = (f"{name}={divided(share, 0.01)}%" for name, share in plan.precise.items())
        yield from ("--precise", ",".join(asked))
    if plan.deadline_us is not None:
        yield from ("--deadline", f"{plain(plan.deadline_us)}us")
    if plan.time_limit_s is not None:
        yield from ("--time-limit", plain(plan.time_limit_s))
    if plan.spread_s is not None:
        yield from ("--spread", plain(plan.spread_s))
    if plan.budget_s is not None:
        yield from ("--budget", plain(plan.budget_s))
    if not plan.checked:
        yield "--unchecked"
    if plan.tolerance is not None:
        yield from ("--tolerance", repr(plan.tolerance))
    if plan.baseline:
        yield from ("--baseline", plan.baseline)
    if plan.anchor:
        yield from ("--anchor", plan.anchor)
    if plan.aa is not None:
        yield from ("--aa", str(plan.aa))
    if plan.cold_start is not None:
        yield from ("--cold-start", str(plan.cold_start))
    if plan.page_cache != "warm":
        yield from ("--page-cache", plan.page_cache)
    if plan.null:
        yield "--null"
    if plan.band != BAND:
        yield from ("--band", repr(plan.band))
    if plan.judge != JUDGED:
        yield from ("--judge", ",".join(plan.judge))
    yield from _own(plan)
    if plan.accuracy:
        yield from ("--accuracy", plan.accuracy)
    if plan.profile_ops:
        yield "--profile-ops"
    if plan.largest_batch:
        yield "--largest-batch"
    if plan.check:
        yield "--check"
    if plan.slo:
        yield from ("--slo", plan.slo)
    if plan.tune:
        yield from ("--tune", plan.tune)
    if plan.max_error is not None:
        yield from ("--max-error", f"{divided(plan.max_error, 0.01)}%")
    if plan.memory_limit:
        yield from ("--memory-limit", plan.memory_limit)
    if plan.device_memory_limit:
        yield from ("--device-memory-limit", plan.device_memory_limit)
    if plan.cores:
        yield from ("--cores", plan.cores)
    if plan.lock_memory:
        yield "--lock-memory"
    if plan.realtime is not None:
        yield from ("--realtime", str(plan.realtime))
    if plan.cluster:
        yield from ("--cluster", plan.cluster)
    for flag, given in (
        ("--per-host", plan.per_host),
        ("--send-code", plan.send_code),
        ("--insecure-cluster", plan.insecure_cluster),
    ):
        if given:
            yield flag
    if plan.seed is not None:
        yield from ("--seed", str(plan.seed))


def _own(plan: Plan) -> Iterator[str]:
    """The flags of the user's own files, nodes, ranges and states."""
    for flag, value in (
        ("--weights", plan.weights),
        ("--inputs", plan.inputs),
        ("--calibration", plan.calibration),
        ("--from-node", ",".join(plan.from_nodes)),
        ("--to-node", ",".join(plan.to_nodes)),
    ):
        if value:
            yield from (flag, value)
    for name, (low, high) in plan.input_range.items():
        yield from ("--input-range", f"{name}={plain(low)}:{plain(high)}")
    for output, given in plan.states.items():
        yield from ("--state", f"{output}={given}")
    if plan.rotate_inputs:
        yield "--rotate-inputs"
    if plan.save_inputs:
        yield "--save-inputs"
    for library in plan.custom_ops:
        yield from ("--custom-ops", library)


def _lists(sweep: Sweep) -> Iterator[str]:
    fields = Sweep.model_fields
    for flag, name in (
        ("--runtimes", "runtimes"),
        ("--batch", "batch_size"),
        ("--replicas", "replicas"),
        *((axis.flag, axis.key) for axis in AXES),
    ):
        values = getattr(sweep, name)
        if values != fields[name].default:
            for word in values if flag in _REPEATED else (_joined(values),):
                yield from (flag, word)


def _joined(values: Sequence[OptionValue]) -> str:
    return ",".join(str(int(v)) if isinstance(v, bool) else str(v) for v in values)
