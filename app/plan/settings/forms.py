"""How a value is written on a command line: as one word, a switch, a list or named values.

Each form declares argparse's action, reads what argparse collected, and writes the words that are
read as the same value. A word that means nothing is a PlanError that names its option.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from app.cases.errors import PlanError
from exporters.invalid_value import InvalidValue

T = TypeVar("T")


class Form(Protocol):
    """What all forms have. `separator` stands between the words in a field of one line."""

    @property
    def action(self) -> str: ...

    @property
    def separator(self) -> str: ...

    def read(self, given: Any, flag: str) -> Any:
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
    action = "store"
    separator = ""

    def read(self, given: str, flag: str) -> Any:
        return parsed(self.parse, given, flag)

    def parts(self, value: Any) -> list[str]:
        return [self.format(value)]


@dataclass(frozen=True, slots=True)
class Switch:
    """A flag without a word, which sets `value`."""

    value: bool = True
    action = "store_true"
    separator = ""

    def read(self, given: bool, flag: str) -> bool:
        return self.value

    def parts(self, value: bool) -> list[str]:
        return []


@dataclass(frozen=True, slots=True)
class Words:
    """Values with commas; `repeated`: the flag is given once for each, and `whole` words are not
    parted at commas, which they may hold themselves."""

    parse: Callable[[str], Any] = str
    format: Callable[[Any], str] = str
    repeated: bool = False
    whole: bool = False

    @property
    def action(self) -> str:
        return "append" if self.repeated else "store"

    @property
    def separator(self) -> str:
        return ";" if self.whole else ","

    def read(self, given: str | Sequence[str], flag: str) -> list[Any]:
        texts = [given] if isinstance(given, str) else given
        words = texts if self.whole else [w for text in texts for w in words_of(text, flag)]
        return [parsed(self.parse, word, flag) for word in words]

    def parts(self, value: Sequence[Any]) -> list[str]:
        return [self.format(one) for one in value]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Values by name: `pattern` shows how one is written, such as `name=1,2,4`.

    The flag is given once for each name; with `commas` all stand in one word. Where a name may
    contain `=`, the last one parts it from its value. `parse` makes a value of its text.
    """

    pattern: str
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

    def read(self, given: str | Sequence[str], flag: str) -> dict[str, Any]:
        texts = words_of(given, flag) if isinstance(given, str) else given
        pairs = (self._pair(text, flag) for text in texts)
        return {name: self._value(name, text, flag) for name, text in pairs}

    def parts(self, value: Mapping[str, Any]) -> list[str]:
        return [f"{name}={self._text(one)}" for name, one in value.items()]

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
            raise PlanError(
                f"{flag} {text!r} can't be understood", f"write it as {flag} {self.pattern}", flag
            )
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
        given = (word.strip() for word in text.split(form.separator))
        return form.read([word for word in given if word], flag)
    return form.read(text, flag)
