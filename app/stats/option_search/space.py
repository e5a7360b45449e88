"""The search space of a tuning run: option values, the cases around a case, their neighbours."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from app.cases.case import Case
from exporters.types import Precision
from runtimes.options import Option, OptionValue

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""What the default of a number without an upper end is multiplied by."""
BEYOND = 2
"""Lanes and the like are tried up to so many times the cores."""


def candidate_values(option: Option, cores: int) -> tuple[OptionValue, ...]:
    """The default first; it alone where the table does not say what else there is."""
    if not option.tuned:
        return (option.default,)
    if option.choices:
        values: Iterator[OptionValue] = iter(option.choices)
    elif isinstance(option.default, bool):
        values = iter((True, False))
    elif isinstance(option.default, str):
        values = iter(())
    else:
        values = _numbers(option, option.default, cores)
    return tuple(dict.fromkeys((option.default, *values)))


def threads_of(cores: int) -> tuple[int, ...]:
    """What the engine chooses by itself, then powers of two up to all cores."""
    return (0, *_doublings(1, cores))


def _numbers(option: Option, default: float, cores: int) -> Iterator[OptionValue]:
    """Powers of two between both ends, no more than the cores have a use for; without an upper
    end, parts and multiples of the default."""
    kind = type(option.default)
    if option.maximum is None:
        numbers = [factor * default for factor in FACTORS]
    else:
        low = max(1, math.ceil(option.minimum or 1))
        numbers = list(_doublings(low, min(option.maximum, max(low, BEYOND * cores))))
    for number in numbers:
        if option.minimum is None or number >= option.minimum:
            yield kind(number)


def _doublings(low: int, high: float) -> Iterator[int]:
    number = low
    while number < high:
        yield number
        number *= 2
    if low <= high:
        yield int(high)


Choice = tuple[str, OptionValue]
"""What is chosen, and its value: `batch` and 8, `option streams` and 2."""
RUNTIME, PRECISION, BATCH, THREADS, OPTION = "runtime", "precision", "batch", "threads", "option "


@dataclass(frozen=True, slots=True)
class Space:
    """Of one model: `base` is the case that is compared with, its values the first of each list,
    `cores` are those that it has.

    `precisions`, `options` and `usual`, the options' defaults, are by runtime. `batch_axis` is the
    axis that `batches` are sizes of, empty for none that is searched.
    """

    base: Case
    runtimes: tuple[str, ...]
    precisions: Mapping[str, tuple[Precision, ...]]
    threads: tuple[int, ...]
    batch_axis: str
    batches: tuple[int, ...]
    options: Mapping[str, Mapping[str, tuple[OptionValue, ...]]]
    usual: Mapping[str, Mapping[str, OptionValue]]
    cores: int = 1

    def beginnings(self) -> Iterator[Case]:
        """Every runtime and precision, at the first and the largest batch, and the cores shared."""
        for runtime in self.runtimes:
            for precision in self.precisions[runtime]:
                case = self._apply_choice(
                    replace(self.base, precision=precision), (RUNTIME, runtime)
                )
                for batch in dict.fromkeys((*self.batches[:1], *self.batches[-1:])) or (0,):
                    yield self._apply_choice(case, (BATCH, batch)) if batch else case
                yield from self.share_cores(case)

    def share_cores(self, case: Case) -> Iterator[Case]:
        """The cores shared out: so many threads for each of as many lanes as there are cores for.

        A count among the options may be one of lanes, and neither it nor threads help alone.
        """
        for name, values in self.options[case.runtime].items():
            for value in values:
                each = self.cores // value if type(value) is int and value > 1 else 0
                if each in self.threads[1:] or (each and self.threads == (each,)):
                    yield self._apply_choice(
                        self._apply_choice(case, (THREADS, each)), (OPTION + name, value)
                    )

    def first_options(self, runtime: str) -> dict[str, OptionValue]:
        """What a runtime begins with: its defaults, where a plan gives no other first value."""
        first = {name: values[0] for name, values in self.options[runtime].items()}
        return self._unusual(runtime, first)

    def changes(self, case: Case) -> Iterator[Case]:
        """Every case that differs from this one in one choice."""
        for name, values in self._choices(case).items():
            for value in values:
                variant = self._apply_choice(case, (name, value))
                if variant.case_id != case.case_id:
                    yield variant

    def random_case(self, case: Case, rng: random.Random, changes: int) -> Case:
        """A case that differs in so many choices, fewer where there are no more."""
        choices = {n: v for n, v in self._choices(case).items() if len(v) > 1 and n != RUNTIME}
        names = sorted(choices)
        for name in rng.sample(names, min(changes, len(names))):
            case = self._apply_choice(case, (name, rng.choice(choices[name])))
        return case

    def steps_between(self, first: Case, last: Case) -> list[tuple[Choice, Case]]:
        """From one case to another choice by choice: what changes, and the case after it."""
        steps: list[tuple[Choice, Case]] = []
        current = first
        for name in (RUNTIME, PRECISION, BATCH, THREADS, *self._option_names(last)):
            value = self._value(last, name)
            if value != self._value(current, name):
                current = self._apply_choice(current, (name, value))
                steps.append(((name, value), current))
        return steps

    def values(self, case: Case) -> tuple[Choice, ...]:
        """All choices of a case; those of options are named with their runtime, which has its
        own."""
        names = self._choices(case)
        return tuple((self._runtime_effect(case, name), self._value(case, name)) for name in names)

    def cheapest(
        self, runtime: str, precision: Precision, effect: Callable[[Choice], float]
    ) -> Case:
        """Of a runtime and a precision the case whose choices have the least effects."""
        case = self._apply_choice(replace(self.base, precision=precision), (RUNTIME, runtime))
        for name, values in self._choices(case).items():
            if name not in (RUNTIME, PRECISION) and len(values) > 1:
                effect_name = self._runtime_effect(case, name)
                costs = [effect((effect_name, value)) for value in values]
                value = values[costs.index(min(costs))]
                case = self._apply_choice(case, (name, value))
        return case

    def _runtime_effect(self, case: Case, name: str) -> str:
        return f"{case.runtime} {name}" if name.startswith(OPTION) else name

    def _choices(self, case: Case) -> dict[str, tuple[OptionValue, ...]]:
        choices: dict[str, tuple[OptionValue, ...]] = {
            RUNTIME: self.runtimes,
            PRECISION: self.precisions[case.runtime],
            BATCH: self.batches,
            THREADS: self.threads,
        }
        options = self.options[case.runtime]
        return choices | {f"{OPTION}{name}": values for name, values in options.items()}

    def _option_names(self, case: Case) -> list[str]:
        return [f"{OPTION}{name}" for name in self.options[case.runtime]]

    def _value(self, case: Case, name: str) -> OptionValue:
        if name == RUNTIME:
            return case.runtime
        if name == PRECISION:
            return case.precision
        if name == THREADS:
            return case.threads
        if name == BATCH:
            return case.axes.get(self.batch_axis, 0)
        option = name.removeprefix(OPTION)
        return case.options.get(option, self.usual[case.runtime].get(option, ""))

    def _apply_choice(self, case: Case, choice: Choice) -> Case:
        """The case with one choice made; another runtime has its own options and precisions."""
        name, value = choice
        if name == RUNTIME:
            runtime = str(value)
            known = self.precisions[runtime]
            precision = case.precision if case.precision in known else known[0]
            return replace(
                case, runtime=runtime, precision=precision, options=self.first_options(runtime)
            )
        if name == PRECISION:
            return replace(case, precision=value)  # type: ignore[arg-type]
        if name == THREADS:
            return replace(case, threads=int(value))
        if name == BATCH:
            return replace(case, axes={**case.axes, self.batch_axis: int(value)})
        option = name.removeprefix(OPTION)
        if option not in self.options[case.runtime]:
            return case
        options = {**case.options, option: value}
        return replace(case, options=self._unusual(case.runtime, options))

    def _unusual(self, runtime: str, options: Mapping[str, OptionValue]) -> dict[str, OptionValue]:
        """As cases hold them: in one order, without those at their defaults."""
        usual = self.usual[runtime]
        return {name: options[name] for name in sorted(options) if options[name] != usual[name]}
