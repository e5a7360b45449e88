"""The row of one setting, with the notation of its values on a command line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from app.cases.errors import PlanError, suggestion
from app.cases.scenario import Scenario
from app.cases.units import MICROSECONDS_NUMBER, UNIT, divided, microseconds, plain, scaled
from exporters.size import parse_size
from exporters.types import InvalidValue

LONGEST_DEADLINE_US = 24 * 3600e6
LONGEST_PAUSE_S = 60.0
"""After a longer pause a round of any length has too few runs for a median."""
_STEPS = (1, 2, 5)


def integer_from(minimum: int) -> Callable[[str], int]:
    """The parser of whole numbers of at least so much."""

    def parse(word: str) -> int:
        try:
            number = int(word)
        except ValueError:
            number = minimum - 1
        if number < minimum:
            raise InvalidValue(
                f"{word} is not an integer of at least {minimum}", "give such a number"
            )
        return number

    return parse


def share(text: str) -> float:
    """0.02 of `2%` or of `0.02`."""
    word = text.strip()
    try:
        value = scaled(word.removesuffix("%"), 0.01) if word.endswith("%") else float(word)
    except (ValueError, ArithmeticError):
        value = -1.0
    if not 0.0 <= value < 1.0:
        raise InvalidValue(f"{text!r} is no share", "write it as 2% or as 0.02")
    return value


def share_text(value: float) -> str:
    return f"{divided(value, 0.01)}%"


def size(text: str) -> str:
    """An amount of memory, as it was written."""
    size_in_bytes(text)
    return text


def size_in_bytes(text: str) -> int:
    """Bytes of a size like 8GiB."""
    try:
        return parse_size(text)
    except InvalidValue as error:
        raise InvalidValue(f"{text!r} {error.cause}", error.remedy) from None


def span(text: str) -> tuple[float, float]:
    """Both ends of `0:1`."""
    low, _, high = text.partition(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = math.nan, math.nan
    if not all(map(math.isfinite, ends)):
        raise InvalidValue(f"{text} is no range", "write it as 0:1, with two finite numbers")
    return ends


def span_text(ends: Sequence[float]) -> str:
    low, high = ends
    return f"{plain(low)}:{plain(high)}"


def amount(word: str) -> float:
    """A number from 0 on."""
    try:
        number = float(word)
    except ValueError:
        number = -1.0
    if not 0 <= number < math.inf:
        raise InvalidValue(f"{word} is no number of at least 0", "give one, such as 1e-3")
    return number


def percentile(word: str) -> float:
    """99.9 of `p99.9` or of `99.9`."""
    try:
        return float(word.removeprefix("p"))
    except ValueError:
        raise InvalidValue(f"{word} is no percentile", "give numbers, such as 50,99.9") from None


def choice_of(choices: Sequence[str]) -> Callable[[str], str]:
    """The parser of words that are among the known."""

    def parse(word: str) -> str:
        if word not in choices:
            raise InvalidValue(f"{word} is not known", suggestion(word, choices))
        return word

    return parse


def seconds_text(value: float) -> str:
    return f"{plain(value)}s"


def deadline(text: str) -> float:
    """Microseconds of `100us`, `2ms` or `1s`."""
    match = re.fullmatch(rf"{MICROSECONDS_NUMBER}\s*{UNIT}", text.strip())
    deadline_us = microseconds(match["time"], match["unit"]) if match else 0.0
    if not 0.0 < deadline_us <= LONGEST_DEADLINE_US:
        raise InvalidValue(f"{text} is no time that a run may take", "write it like 100us or 2ms")
    return deadline_us


def deadline_text(deadline_us: float) -> str:
    return f"{plain(deadline_us)}us"


def option_text(value: object) -> str:
    """A value of a runtime's option; those that are true or false are written as 1 and 0."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def idle_sweep(text: str) -> list[str]:
    """Of `20us..1s` both ends and all of 1, 2 and 5 times a power of ten between, as scenarios."""
    low, dots, high = text.partition("..")
    try:
        minimum_ns, maximum_ns = _nanoseconds(low), _nanoseconds(high)
    except ValueError:
        minimum_ns = maximum_ns = 0
    if not dots or not 0 < minimum_ns < maximum_ns:
        raise InvalidValue(f"{text!r} is no range of gaps", "write it like 20us..1s")
    if maximum_ns > LONGEST_PAUSE_S * 1e9:
        raise InvalidValue(
            f"{text!r} has gaps too long to measure", f"use at most {LONGEST_PAUSE_S:g}s"
        )
    steps = (step * 10**power for power in range(12) for step in _STEPS)
    middle = (gap_ns for gap_ns in steps if minimum_ns < gap_ns < maximum_ns)
    return [str(Scenario("paced", ns / 1e3)) for ns in (minimum_ns, *middle, maximum_ns)]


def _nanoseconds(word: str) -> int:
    return round(Scenario.parse(f"paced:{word.strip()}").gap_us * 1e3)


T = TypeVar("T")


class Form(Protocol):
    """What all forms have. `sample` is a value as it is written, and `separator` stands between the
    words in a field of one line."""

    @property
    def sample(self) -> str: ...

    @property
    def action(self) -> str: ...

    @property
    def separator(self) -> str: ...

    def read(self, argument: Any, flag: str) -> Any:
        """The value of what argparse collected."""
        ...

    def parts(self, value: Any) -> list[str]:
        """The texts of its parts; a switch has none."""
        ...


@dataclass(frozen=True, slots=True)
class Word:
    """One value in one word."""

    parse: Callable[[str], Any] = str
    format: Callable[[Any], str] = str
    sample: str = ""
    action = "store"
    separator = ""

    def read(self, argument: str, flag: str) -> Any:
        return parsed(self.parse, argument, flag)

    def parts(self, value: Any) -> list[str]:
        return [self.format(value)]


@dataclass(frozen=True, slots=True)
class Switch:
    """A flag without a word, which sets `value`."""

    value: bool = True
    sample: str = ""
    action = "store_true"
    separator = ""

    def read(self, argument: bool, flag: str) -> bool:
        return self.value

    def parts(self, value: bool) -> list[str]:
        return []


@dataclass(frozen=True, slots=True)
class Words:
    """Values with commas; `repeated`: the flag is given once for each, and `unsplit` words are
    not parted at commas, which they may hold themselves."""

    parse: Callable[[str], Any] = str
    format: Callable[[Any], str] = str
    repeated: bool = False
    unsplit: bool = False
    sample: str = ""

    @property
    def action(self) -> str:
        return "append" if self.repeated else "store"

    @property
    def separator(self) -> str:
        return ";" if self.unsplit else ","

    def read(self, argument: str | Sequence[str], flag: str) -> list[Any]:
        texts = [argument] if isinstance(argument, str) else argument
        words = texts if self.unsplit else [w for text in texts for w in words_of(text, flag)]
        return [parsed(self.parse, word, flag) for word in words]

    def parts(self, value: Sequence[Any]) -> list[str]:
        return [self.format(item) for item in value]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Values by name, such as those of `sample`.

    The flag is given once for each name; with `commas` all stand in one word. Where a name may
    contain `=`, the last one parts it from its value. `parse` makes a value of its text.
    """

    sample: str
    parse: Callable[[str], Any] = str
    format: Callable[[Any], str] = str
    listed: bool = False
    commas: bool = False
    name_has_equals: bool = False

    @property
    def action(self) -> str:
        return "store" if self.commas else "append"

    @property
    def separator(self) -> str:
        return "," if self.commas else " "

    def read(self, argument: str | Sequence[str], flag: str) -> dict[str, Any]:
        texts = words_of(argument, flag) if isinstance(argument, str) else argument
        pairs = (self._pair(text, flag) for text in texts)
        return {name: self._value(name, text, flag) for name, text in pairs}

    def parts(self, value: Mapping[str, Any]) -> list[str]:
        return [f"{name}={self._text(item)}" for name, item in value.items()]

    def _value(self, name: str, text: str, flag: str) -> Any:
        words = words_of(text, f"{flag} {name}") if self.listed else [text]
        try:
            values = [self.parse(word) for word in words]
        except InvalidValue as error:
            raise PlanError(f"{flag} {name}={error.cause}", error.remedy, flag) from None
        return values if self.listed else values[0]

    def _text(self, value: Any) -> str:
        return ",".join(map(self.format, value)) if self.listed else self.format(value)

    def _pair(self, text: str, flag: str) -> tuple[str, str]:
        part = text.rpartition if self.name_has_equals else text.partition
        name, equals, value = part("=")
        if not (name and equals and value):
            example = f"{flag} {self.sample}" if flag.startswith("-") else self.sample
            raise PlanError(f"{flag} {text!r} can't be understood", f"write it as {example}", flag)
        return name, value


def words_of(text: str | None, flag: str) -> list[str]:
    """The parts between commas, none of a flag that is not given; PlanError for an empty one."""
    if text is None:
        return []
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise PlanError(f"{flag} {text!r} has an empty part", "separate values by one comma", flag)
    return words


def parsed(parse: Callable[[str], T], word: str, flag: str) -> T:
    """What a word of a flag means; PlanError if it means nothing."""
    try:
        return parse(word)
    except InvalidValue as error:
        raise PlanError(f"{flag} {error.cause}", error.remedy, flag) from None


def flag_words(flag: str, form: Form, value: Any) -> Iterator[str]:
    """The words of a command line that give this value."""
    parts = form.parts(value)
    if form.action == "append":
        for part in parts:
            yield from (flag, part)
    elif form.action == "store":
        yield from (flag, ",".join(parts))
    else:
        yield flag


def field_text(form: Form, value: Any) -> str:
    """The value in a field of one line."""
    return f"{form.separator.strip()} ".join(form.parts(value))


def field_value(form: Form, text: str, flag: str) -> Any:
    """The value of such a text; PlanError for what means nothing."""
    text = text.strip().removesuffix(form.separator.strip()).strip()
    if form.action == "append":
        words = (word.strip() for word in text.split(form.separator))
        return form.read([word for word in words if word], flag)
    return form.read(text, flag)


Scope = Literal["plan", "sweep", "command"]
"""Of the whole plan, of each of its grids, or of the command alone."""

NEW = ("run", "slo", "tune", "noise")
"""The commands that measure a new plan."""
PLANNED = (*NEW, "open")
"""Those that make a plan: the window lays it out in its editor."""
MEASURED = (*NEW, "resume", "rerun", "study")
"""The commands after which a run has been measured."""
WORK, LENGTH, ADDITIONS, COMPARISON, MODEL, PLACE, OUTPUT = GROUPS = (
    "what to measure",
    "how long",
    "also measure",
    "comparison",
    "inputs and parts of models",
    "limits and places",
    "output",
)
"""The titles below which help and documentation list settings."""
FIGURES_FOLD, LIMITS_FOLD, PLACES_FOLD, FILES_FOLD = FOLDS = (
    "Figures and verdicts of the sweep",
    "Limits and checks of the sweep",
    "Where it runs",
    "Files and parts of models",
)
"""The titles of the window's form for a whole plan."""


def never(value: Any) -> bool:
    """No value makes the program run code."""
    return False


def always(value: Any) -> bool:
    """Every value that is set does."""
    return bool(value)


def loads_library(runtime: str) -> bool:
    """A runtime that is an execution provider of a package or of a library, which is loaded."""
    return runtime.partition(":")[0] == "ort-ep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What pydantic holds a number or a switch to, for classes that can't import it: none is
    converted from a text."""

    ge: float | None = None
    le: float | None = None
    allow_inf_nan: bool | None = None
    strict: bool = True

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        bounds = {name: getattr(self, name) for name in self.__slots__}
        return {**handler(source), **{n: v for n, v in bounds.items() if v is not None}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """`form` reads the words of the flag, which is the key's unless another is given, and writes
    them.

    `commands` accept it, and `common` ones are listed by their short help. `runs_code` says of a
    value whether it makes the program run code: the configuration file of a project must not have
    such a one. What `is_capability` asks for is done by a registered capability of its key.
    `toml` is its key in a plan file where that is not the field's name.

    It has four texts. `help` is its line; `label` makes a row of the window's form below the title
    `fold`, which is its class's unless another is given; `absent` is what holds without it, for
    window and documentation; `notes` are what the documentation has in place of `help`.
    """

    help: str
    group: str
    flag: str = ""
    form: Form = Word()
    commands: tuple[str, ...] = PLANNED
    metavar: str = ""
    common: bool = False
    runs_code: Callable[[Any], bool] = never
    is_capability: bool = False
    toml: str = ""
    label: str = ""
    fold: str = ""
    absent: str = ""
    notes: str = ""
    extends: str = ""
    """The key of a list to which the values are added, of a setting that has no field."""
    key: str = ""
    scope: Scope = "command"

    def __post_init__(self) -> None:
        if self.key and not self.flag:
            object.__setattr__(self, "flag", f"--{self.key.replace('_', '-')}")

    @property
    def dest(self) -> str:
        """The name of its value in a namespace of arguments."""
        return self.flag.removeprefix("--").replace("-", "_")

    @property
    def term(self) -> str:
        """Its entry of the window's glossary."""
        return self.label.replace("&", "").lower()

    @property
    def name(self) -> str:
        """The key by which files have it."""
        return self.toml or self.key
