"""Options of runtimes in a grid: their combinations, and the values that a search tries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from app.cases.case import Case
from app.cases.errors import PlanError, suggestion
from app.machine.installed_runtimes import (
    clock_of,
    each_device_of,
    grid_runtimes,
    options_of,
    runtime,
)
from app.machine.placement import usable_cores
from app.plan.exclusions import reject_exclusions
from app.plan.plan import Plan
from app.plan.settings.sweep import Sweep
from app.stats.option_search.space import Space, candidate_values
from exporters.types import InvalidValue, Precision, nearest
from runtimes import registry
from runtimes.options import Option, OptionValue
from runtimes.packaged import Unusable
from runtimes.registry import parse_spec


def reject_unknown_options(sweep: Sweep, runtimes: Sequence[str]) -> None:
    """PlanError for an option, or a value, that none of these runtimes has."""
    measured_names = {parse_spec(text).name for text in runtimes}
    for key, values in sweep.options.items():
        name, _, option_name = key.partition(".")
        if name not in registry.names():
            raise PlanError(
                f"the option {key!r} names no runtime",
                f"write it as runtime.option; {suggestion(name, registry.names())}",
            )
        if name not in measured_names:
            raise PlanError(
                f"the option {key!r} is for a runtime that is not measured",
                f"add {name} to the runtimes or leave the option out",
            )
        definition = runtime(name)
        if isinstance(definition, Unusable):  # nobody knows what options it would have
            raise PlanError(definition.why.reason, definition.why.remedy)
        options = {option.name: option for option in definition.options_for([option_name])}
        if option_name not in options:
            raise PlanError(
                f"{name} has no option {option_name!r}", _known_options(option_name, list(options))
            )
        for value in values:
            try:
                options[option_name].parse(str(value))
            except InvalidValue as error:
                raise PlanError(f"{name}.{error.cause}", error.remedy, key) from None


def _known_options(word: str, options: Sequence[str]) -> str:
    """All that there are, with the one that was probably meant in front."""
    if not options:
        return "it has none"
    return f"{nearest(word, options)} its options are {', '.join(options)}".lstrip()


def option_sets(sweep: Sweep, text: str) -> Iterator[dict[str, OptionValue]]:
    """The product of this runtime's option values, defaults left out.

    A default that is spelled out is the same case as one that is not: both run the same.
    The rows tell all options, those with their default too.
    """
    name = parse_spec(text).name
    axes = {k.partition(".")[2]: v for k, v in sweep.options.items() if k.partition(".")[0] == name}
    options = {option.name: option for option in runtime(name).options_for(axes)}
    usual = {option.name: option.default for option in (*options.values(), *options_of(text))}
    for point in product(*axes.values()):
        typed_values = {o: options[o].parse(str(v)) for o, v in zip(axes, point, strict=True)}
        yield {option: value for option, value in typed_values.items() if value != usual[option]}


BATCHES = (1, 2, 4, 8, 16, 32)
"""What is tried of a model with a batch axis where the goal is a throughput."""


def with_search_values(plan: Plan) -> Plan:
    """The plan with every list that its search takes values from, so that the run folder says on
    any machine what was searched; any other plan as it is. PlanError for what can't be searched."""
    if not plan.tune:
        return plan
    reject_exclusions(plan)
    (sweep,) = plan.sweeps
    specs = grid_runtimes(sweep.runtimes)
    reject_unknown_options(sweep, specs)
    runtimes = _on_same_clock(specs, bool(sweep.runtimes))
    cores = _cores(plan)
    options: dict[str, tuple[OptionValue, ...]] = dict(sweep.options)
    for name in dict.fromkeys(parse_spec(text).name for text in runtimes):
        if name not in registry.names():
            continue  # the plan's cases say that there is none
        for option in runtime(name).options:
            values = candidate_values(option, cores)
            if len(values) > 1:
                options.setdefault(f"{name}.{option.name}", values)
    full_sweep = sweep.model_copy(update={"runtimes": tuple(runtimes), "options": options})
    return plan.model_copy(update={"sweeps": (full_sweep,)})


def first_choices(plan: Plan, sweep: Sweep) -> Sweep:
    """The grid of the default alone, from which a search begins."""
    if not plan.tune:
        return sweep
    first = {key: getattr(sweep, key)[:1] for key in ("precisions", "threads", "batch_size")}
    begins = grid_runtimes(sweep.runtimes)[:1]
    names = {parse_spec(text).name for text in begins}
    options = {k: v[:1] for k, v in sweep.options.items() if k.partition(".")[0] in names}
    return sweep.model_copy(update={**first, "runtimes": begins, "options": options})


def space_of(plan: Plan, base: Case, batch_axis: str) -> Space:
    """What may be changed of a case of a plan that is spelled out; PlanError for a value that a
    runtime does not know, as a release to come may write it."""
    (sweep,) = plan.sweeps
    definitions = {text: runtime(parse_spec(text).name) for text in sweep.runtimes}
    options = {
        text: {
            option.name: _values(option, sweep.options[f"{definition.name}.{option.name}"])
            for option in definition.options
            if f"{definition.name}.{option.name}" in sweep.options
        }
        for text, definition in definitions.items()
    }
    precisions: dict[str, tuple[Precision, ...]] = {
        text: tuple(p for p in sweep.precisions if p in definition.precisions)
        for text, definition in definitions.items()
    }
    goal = plan.goal
    free = BATCHES if goal is not None and goal.rate else ()
    batches = (sweep.batch_size or free) if batch_axis else ()
    first = base.axes.get(batch_axis)
    if first is not None and batches:
        batches = tuple(dict.fromkeys((first, *batches)))
    return Space(
        base=base,
        runtimes=tuple(text for text in sweep.runtimes if precisions[text]),
        precisions=precisions,
        threads=sweep.threads,
        batch_axis=batch_axis,
        batches=batches,
        options=options,
        usual={
            text: {option.name: option.default for option in definition.options}
            for text, definition in definitions.items()
        },
        cores=max(1, *sweep.threads),
    )


def _values(option: Option, raw_values: Sequence[OptionValue]) -> tuple[OptionValue, ...]:
    try:
        return tuple(option.parse(str(value)) for value in raw_values)
    except ValueError as error:
        raise PlanError(
            f"a search had the option {error}", "use the Graphlap that wrote its run"
        ) from None


def _on_same_clock(runtimes: Sequence[str], is_explicit: bool) -> list[str]:
    """Those that the first one's clock times; PlanError if others were asked for by name."""
    first = clock_of(runtimes[0]) if runtimes else "wall"
    for text in runtimes:
        if len(each_device_of(text)) > 1:
            raise PlanError(
                f"tune searches the options of one device, and {text} is several",
                f"name one, as {each_device_of(text)[0]}, and measure its answer on all of them",
            )
        if is_explicit and clock_of(text) != first:
            raise PlanError(
                f"the clock of {text} is {clock_of(text)}, the clock of {runtimes[0]} is {first}, "
                "so that neither is faster",
                "tune them in two runs",
            )
    return [text for text in runtimes if clock_of(text) == first]


def _cores(plan: Plan) -> int:
    return len(plan.chosen_cores) or len(usable_cores())
