"""The values of runtimes' options that a grid gives: refused where unknown, in all combinations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import product

from app.cases.errors import PlanError, suggestion
from app.machine.available import options_of, runtime
from app.plan.plan import Sweep
from exporters.invalid_value import InvalidValue
from runtimes import registry
from runtimes.options import OptionValue
from runtimes.packaged import Unusable
from runtimes.registry import parse_spec


def refuse_unknown_options(sweep: Sweep, runtimes: Sequence[str]) -> None:
    """PlanError for an option, or a value, that none of these runtimes has."""
    measured = {parse_spec(text).name for text in runtimes}
    for key, values in sweep.options.items():
        name, _, option_name = key.partition(".")
        if name not in registry.names():
            raise PlanError(
                f"the option {key!r} names no runtime",
                f"write it as runtime.option; {suggestion(name, registry.names())}",
            )
        if name not in measured:
            raise PlanError(
                f"the option {key!r} is for a runtime that is not measured",
                f"add {name} to the runtimes or leave the option out",
            )
        known = runtime(name)
        if isinstance(known, Unusable):  # nobody knows what options it would have
            raise PlanError(known.why.reason, known.why.remedy)
        options = {option.name: option for option in known.options_for([option_name])}
        if option_name not in options:
            raise PlanError(
                f"{name} has no option {option_name!r}", _known_options(option_name, list(options))
            )
        for value in values:
            try:
                options[option_name].parse(str(value))
            except InvalidValue as error:
                raise PlanError(f"{name}.{error.cause}", error.remedy, key) from None


def _known_options(word: str, known: Sequence[str]) -> str:
    """All that there are, with the one that was probably meant in front."""
    if not known:
        return "it has none"
    near = [f"did you mean {name!r}? " for name in get_close_matches(word, known, n=1)]
    return f"{''.join(near)}its options are {', '.join(known)}"


def option_sets(sweep: Sweep, text: str) -> Iterator[dict[str, OptionValue]]:
    """The product of this runtime's option values, defaults left out.

    A default that is spelled out is the same case as one that is not: both run the same.
    The rows tell all options, those with their default too.
    """
    name = parse_spec(text).name
    axes = {
        key.partition(".")[2]: values
        for key, values in sweep.options.items()
        if key.partition(".")[0] == name
    }
    options = {option.name: option for option in runtime(name).options_for(axes)}
    usual = {option.name: option.default for option in (*options.values(), *options_of(text))}
    for point in product(*axes.values()):
        typed = {
            option: options[option].parse(str(value))
            for option, value in zip(axes, point, strict=True)
        }
        yield {option: value for option, value in typed.items() if value != usual[option]}
