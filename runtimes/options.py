"""What a runtime can be told: its table of options, and the settings that a case gives.

One table serves flags, forms, messages and tuning alike, so that none of them knows a runtime.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from exporters.invalid_value import InvalidValue
from exporters.types import Precision
from runtimes.faults import Unsupported

OptionValue = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Option:
    """One setting of a runtime: it serves flags, forms, messages and tuning alike.

    Not `tuned` is what changes the task, or how it is timed, and not how fast it is done.
    """

    name: str
    default: OptionValue
    help: str
    choices: tuple[OptionValue, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    tuned: bool = True

    def parse(self, text: str) -> OptionValue:
        """The typed value of `text`; ValueError with one sentence if it is not one."""
        kind = type(self.default)
        value: OptionValue
        if kind is bool:
            if text.lower() not in _BOOLEANS:
                raise InvalidValue(f"{self.name}={text} is not a yes/no value", "use 1 or 0")
            value = _BOOLEANS[text.lower()]
        else:
            what = "an integer" if kind is int else "a number"
            try:
                value = kind(text)
            except ValueError:
                raise InvalidValue(f"{self.name}={text} is not {what}", "give one") from None
            if isinstance(value, float) and not math.isfinite(value):
                raise InvalidValue(f"{self.name}={text} is not {what}", "give one")
        if self.choices and value not in self.choices:
            known = ", ".join(map(str, self.choices))
            raise InvalidValue(f"{self.name}={text} is not known", f"use one of {known}")
        if not isinstance(value, str):
            if self.minimum is not None and value < self.minimum:
                raise InvalidValue(
                    f"{self.name}={text} is too small", f"the least is {self.minimum:g}"
                )
            if self.maximum is not None and value > self.maximum:
                raise InvalidValue(
                    f"{self.name}={text} is too large", f"the most is {self.maximum:g}"
                )
        return value


_BOOLEANS = {"1": True, "true": True, "yes": True, "on": True} | {
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}


@dataclass(frozen=True, slots=True)
class Settings:
    """How a case wants to be compiled: all that is not the model or its shapes.

    `threads` 0 leaves the number to the engine. `options` holds the values that differ
    from the runtime's defaults. `device` and `release` are the parts of
    `name[:device][@release]`, empty where not given. `cache_dir` is where an engine may
    keep what it compiled, empty for nowhere. `operator_times` asks for a session
    that can tell the times of its operators; it is never timed itself.
    """

    precision: Precision = "fp32"
    threads: int = 1
    device: str = ""
    release: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    cache_dir: str = ""
    operator_times: bool = False


SESSIONS = Option(
    "sessions",
    1,
    "how many sessions run at once, each in a thread of its own, dealt over the devices in turn",
    minimum=1,
    maximum=64,
)


def all_options(
    known: Iterable[Option], given: Mapping[str, OptionValue]
) -> dict[str, OptionValue]:
    """Every option of a runtime's table with its value: the given one, else the default."""
    return {option.name: option.default for option in known} | dict(given)


def checked_options(
    runtime: str, known: Sequence[Option], given: Mapping[str, OptionValue]
) -> dict[str, OptionValue]:
    """The same, each of its option's type; Unsupported for what the table does not have."""
    names = [option.name for option in known]
    for name in given:
        if name not in names:
            listed = ", ".join(names) or "none"
            raise Unsupported(f"{runtime} has no option {name!r}", f"its options are: {listed}")
    values = all_options(known, given)
    try:
        return {option.name: option.parse(str(values[option.name])) for option in known}
    except ValueError as error:
        raise Unsupported(f"{runtime}: {error}") from None


def sessions_of(known: Iterable[Option], given: Mapping[str, OptionValue]) -> int:
    """How many sessions a case runs at once; 1 for a runtime without the option."""
    return int(all_options(known, given).get(SESSIONS.name, SESSIONS.default))
