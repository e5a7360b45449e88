"""Options of a runtime, and a request: one case prepared for one runtime, every option typed,
every axis and shape fixed; and how a program uses the runtime so, as text to copy.
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


def quoted(text: str, quote: str) -> str:
    """The text between two of `quote`, in which what does not print, and bytes that are no text,
    are octal."""
    return quote + "".join(_char(char, quote) for char in text) + quote


def _char(char: str, quote: str) -> str:
    if char in ("\\", quote):
        return f"\\{char}"
    if char.isprintable():
        return char
    # Always of three digits: a hexadecimal escape would take digits that follow it.
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))


@dataclass(frozen=True, slots=True)
class Used:
    """A model and its settings, `options` whole."""

    model: ExportedModel
    settings: Settings


@dataclass(frozen=True, slots=True)
class Usage:
    """A program in Python, and Triton's model configuration; each empty where there is none."""

    python: str = ""
    triton: str = ""


_TYPES = {
    name: f"TYPE_{name.upper().replace('FLOAT', 'FP')}"
    for name in ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool")
}


def triton_config(
    setup: Used,
    backend: str,
    parameters: Mapping[str, str],
    untold: Mapping[str, str],
    instances: int,
) -> str:
    """A `config.pbtxt` of the model with its shapes as they are, and a backend's parameters;
    `untold` is what was measured with and no parameter says."""
    model = setup.model
    lines = [f'backend: "{backend}"', 'default_model_filename: "model.onnx"', "max_batch_size: 0"]
    for kind, specs in (("input", model.inputs), ("output", model.outputs)):
        for spec in specs:
            dims = ", ".join(
                str(model.axes.get(size, -1) if isinstance(size, str) else size)
                for size in spec.shape
            )
            name = quoted(spec.name, '"')
            kept_as = _TYPES.get(spec.dtype, "TYPE_INVALID")
            lines.append(f"{kind} {{ name: {name} data_type: {kept_as} dims: [ {dims} ] }}")
    lines.append(f"instance_group {{ count: {instances} kind: KIND_CPU }}")
    lines += [
        f'parameters {{ key: "{key}" value: {{ string_value: "{value}" }} }}'
        for key, value in parameters.items()
    ]
    if untold:
        option_text = ", ".join(f"{name}={value}" for name, value in untold.items())
        lines.append(f"# measured with, and no parameter of this backend: {option_text}")
    return "\n".join(lines) + "\n"
