"""Options of a runtime, and a request: one case prepared for one runtime, every option typed,
every axis and shape fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from exporters.types import (
    ExportedModel,
    InvalidValue,
    Precision,
    Reference,
    axes_key,
    load_reference,
)
from runtimes.errors import Unsupported

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
            kind_name = "an integer" if kind is int else "a number"
            try:
                value = kind(text)
            except ValueError:
                raise InvalidValue(f"{self.name}={text} is not {kind_name}", "give one") from None
            if isinstance(value, float) and not math.isfinite(value):
                raise InvalidValue(f"{self.name}={text} is not {kind_name}", "give one")
        if self.choices and value not in self.choices:
            choice_list = ", ".join(map(str, self.choices))
            raise InvalidValue(f"{self.name}={text} is not known", f"use one of {choice_list}")
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
    options: Iterable[Option], settings: Mapping[str, OptionValue]
) -> dict[str, OptionValue]:
    """Every option of a runtime's table with its value: the given one, else the default."""
    return {option.name: option.default for option in options} | dict(settings)


def checked_options(
    runtime: str, options: Sequence[Option], settings: Mapping[str, OptionValue]
) -> dict[str, OptionValue]:
    """The same, each of its option's type; Unsupported for what the table does not have."""
    names = [option.name for option in options]
    for name in settings:
        if name not in names:
            option_list = ", ".join(names) or "none"
            raise Unsupported(
                f"{runtime} has no option {name!r}", f"its options are: {option_list}"
            )
    values = all_options(options, settings)
    try:
        return {option.name: option.parse(str(values[option.name])) for option in options}
    except ValueError as error:
        raise Unsupported(f"{runtime}: {error}") from None


def sessions_of(options: Iterable[Option], settings: Mapping[str, OptionValue]) -> int:
    """How many sessions a case runs at once; 1 for a runtime without the option."""
    return int(all_options(options, settings).get(SESSIONS.name, SESSIONS.default))


Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be compiled, and how.

    `options` has every option of the runtime, `shapes` every input of the model. The device
    in `settings` is the runtime's first where the case names none. `varied` are the axes that the
    session leaves open, as it serves several sizes of them.
    """

    model: ExportedModel
    axes: Mapping[str, int]
    settings: Settings
    options: Mapping[str, OptionValue]
    shapes: Mapping[str, Shape]
    varied: frozenset[str] = frozenset()

    @property
    def fixed_axes(self) -> Mapping[str, int]:
        """The axes that have one size in the session."""
        return {name: size for name, size in self.axes.items() if name not in self.varied}

    def open_shapes(self) -> dict[str, tuple[int | None, ...]]:
        """The shape of every input, None where it is not the same in all runs."""
        return {
            spec.name: tuple(
                None if dimension in self.varied else size
                for dimension, size in zip(spec.shape, self.shapes[spec.name], strict=True)
            )
            for spec in self.model.inputs
        }

    def reference(self) -> Reference:
        """The stored inputs and outputs at these axes; KeyError or OSError without any."""
        return load_reference(self.model.references[axes_key(self.axes)])


def batch_size(model: ExportedModel, axes: Mapping[str, int]) -> int:
    """How many inputs a run takes at `axes`; 1 where the model has no batch."""
    return axes[model.batch] if isinstance(model.batch, str) else model.batch or 1


def input_shapes(model: ExportedModel, axes: Mapping[str, int]) -> dict[str, Shape]:
    """The shape of every input at `axes`; Unsupported for an axis left open or unknown."""
    unknown_axes = sorted(axes.keys() - model.axes.keys())
    if unknown_axes:
        axis_list = ", ".join(model.axes) or "none"
        raise Unsupported(
            f"{model.name} has no axis {unknown_axes[0]!r}", f"its axes are: {axis_list}"
        )
    try:
        return {spec.name: spec.shape_at(axes) for spec in model.inputs}
    except KeyError as error:
        axis = error.args[0]
        raise Unsupported(
            f"the axis {axis!r} of {model.name} has no size", f"set it, as in {axis}=1"
        ) from None
