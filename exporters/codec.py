"""The one codec between our values and JSON, on pipes and in journals.

It reads by the type hints of the dataclasses, so that what another process or an older version
wrote is checked where it comes in. The standard library alone: every process needs it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from reprlib import repr as short
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

T = TypeVar("T")
Reader = Callable[[Any], Any]

_SCALARS: dict[Any, str] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a text",
    NoneType: "null",
}
_INTEGERS = range(-(2**63), 2**63)
"""Beyond them no column, no file and no clock of ours can carry a number."""
_DEEPEST = 100
"""So many levels may be nested in a value of any type, so that writing it never runs out of stack.
"""
NON_FINITE: Mapping[str, bool] = {"non_finite": True}
"""Metadata of a dataclass field of which NaN and infinity are values, as an error of outputs."""


def object_of(text: str | bytes) -> dict[str, Any]:
    """One line of another process as a JSON object; {} for anything else that it may print."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


class CodecError(ValueError):
    """A value that has no form in JSON, or data that is not what its type says."""


def to_json(value: Any) -> Any:
    """What `json.dumps` takes: objects for dataclasses and mappings, lists for tuples and sets.

    A frozenset is sorted. CodecError for anything else that is no scalar.
    """
    kind: Any = type(value)
    return _writer(kind)(value)


def to_brief_json(value: Any) -> Any:
    """The same without those fields of dataclasses that are at their defaults, which `from_json`
    puts back: a fraction of the text where there are many values."""
    kind: Any = type(value)
    return _brief_writer(kind)(value)


def from_json(kind: type[T], data: object, name: str = "", *, finite: bool = False) -> T:
    """The value of type `kind` that `to_json` made `data` of, as `json.loads` gives it.

    A field that `kind` does not have is passed over: a later version may have written it.
    CodecError says in one sentence where the data is wrong, what stands there and what is
    wanted: "round.check.tolerance is 'abc', not a number". `name` is what the whole is called
    in it, the type's name if empty. With `finite` it refuses NaN and infinity too, except in
    fields with the metadata `NON_FINITE`.
    """
    hint: Any = kind
    try:
        value: T = _reader(hint, finite)(data)
    except _Misfit as misfit:
        place = (name or kind.__name__) + "".join(reversed(misfit.steps))
        raise CodecError(f"{place} {misfit.fault}") from None
    return value


class _Misfit(Exception):
    """A fault on its way out to `from_json`; every level that it passes adds its step."""

    def __init__(self, fault: str) -> None:
        super().__init__(fault)
        self.fault = fault
        self.steps: list[str] = []


def _no(expectation: str, data: object) -> _Misfit:
    return _Misfit(f"is {short(data)}, not {expectation}")


@cache
def _writer(kind: type) -> Callable[[Any], Any]:
    if issubclass(kind, (*_SCALARS,)):
        return lambda value: value
    if is_dataclass(kind):
        names = [field.name for field in fields(kind)]
        return lambda value: {name: to_json(getattr(value, name)) for name in names}
    if issubclass(kind, Mapping):
        return lambda value: {key: to_json(item) for key, item in value.items()}
    if issubclass(kind, tuple | list):
        return lambda value: [to_json(item) for item in value]
    if issubclass(kind, frozenset):
        return lambda value: sorted(map(to_json, value))
    raise CodecError(f"a value of type {kind.__name__} has no form in JSON")


@cache
def _brief_writer(kind: type) -> Callable[[Any], Any]:
    if not is_dataclass(kind):
        return _writer(kind)
    usual = [(field.name, _default(field)) for field in fields(kind)]

    def write(value: Any) -> dict[str, Any]:
        brief_fields = {}
        for name, default in usual:
            field_value = getattr(value, name)
            # 1 is True to Python, and another value in JSON.
            if field_value is default or (
                type(field_value) is type(default) and field_value == default
            ):
                continue
            brief_fields[name] = to_brief_json(field_value)
        return brief_fields

    return write


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


@cache
def _reader(hint: Any, finite: bool) -> Reader:
    """How to read data of this type: a closure, made once, since journals have many lines."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return _shallow
    if hint in _SCALARS:
        return _scalar(hint, finite)
    if is_dataclass(hint):
        return _fields(hint, finite)
    if is_typeddict(hint):
        return _known_keys(hint, finite)
    if origin is Literal:
        return _literal(arguments)
    if origin in (Union, UnionType):
        return _union(arguments, finite)
    if origin is tuple and arguments[1:] == (...,):
        return _many(tuple, _reader(arguments[0], finite))
    if origin is tuple:
        return _each([_reader(argument, finite) for argument in arguments])
    if origin in (frozenset, list):
        return _many(origin, _reader(arguments[0], finite))
    if origin is not None and issubclass(origin, Mapping) and arguments[0] is str:
        read_item = _reader(arguments[1], finite)
        return _object(lambda _: read_item)
    raise TypeError(f"the codec cannot read values of the type {hint}")


def _shallow(data: Any) -> Any:
    """A value of any type, unless it is nested deeper than any of ours."""
    level, depth = [data], 0
    while level := [container for container in level if isinstance(container, dict | list)]:
        depth += 1
        if depth > _DEEPEST:
            raise _Misfit(f"is nested more than {_DEEPEST} levels deep")
        level = [
            item
            for container in level
            for item in (container.values() if isinstance(container, dict) else container)
        ]
    return data


def _scalar(kind: type, finite: bool) -> Reader:
    """Each kind has its own, since journals have hundreds of thousands of scalars."""
    expectation = _SCALARS[kind]

    def plain(data: Any) -> Any:
        if type(data) is kind:
            return data
        raise _no(expectation, data)

    def whole(data: Any) -> Any:
        if type(data) is int:
            if data in _INTEGERS:
                return data
            raise _no("a number of this size", data)
        raise _no(expectation, data)

    def real(data: Any) -> Any:
        if type(data) is float:
            if finite and not math.isfinite(data):
                raise _no("a finite number", data)
            return data
        if type(data) is int:
            return _as_float(data)
        raise _no(expectation, data)

    return {int: whole, float: real}.get(kind, plain)


def _as_float(data: int) -> float:
    try:
        return float(data)
    except OverflowError:
        raise _no("a number of this size", data) from None


def _literal(choices: tuple[Any, ...]) -> Reader:
    kinds, choice_set = {type(choice) for choice in choices}, frozenset(choices)
    expectation = f"one of {', '.join(map(repr, choices))}" if choices[1:] else repr(choices[0])

    def read(data: Any) -> Any:
        if type(data) in kinds and data in choice_set:
            return data
        raise _no(expectation, data)

    return read


def _union(kinds: tuple[Any, ...], finite: bool) -> Reader:
    """Scalars are told apart by their own type, so that at most one other kind can be meant."""
    scalars = {kind for kind in kinds if kind in _SCALARS}
    other_kinds = [kind for kind in kinds if kind not in _SCALARS]
    if len(other_kinds) > 1:
        raise TypeError(f"the codec cannot distinguish the types {other_kinds} of a union")
    other = _reader(other_kinds[0], finite) if other_kinds else None
    scalar_readers = {kind: _scalar(kind, finite) for kind in scalars}
    takes_int_as_float = float in scalars and int not in scalars
    expectation = " or ".join(_SCALARS[kind] for kind in kinds if kind in scalars)

    def read(data: Any) -> Any:
        if data is None and NoneType in scalar_readers:
            return None
        reader = scalar_readers.get(type(data))
        if reader is not None:
            return reader(data)
        if takes_int_as_float and type(data) is int:
            return _as_float(data)
        if other is not None:
            return other(data)
        raise _no(expectation, data)

    return read


def _many(make: Callable[[list[Any]], Any], read_item: Reader) -> Reader:
    def read(data: Any) -> Any:
        if type(data) is not list:
            raise _no("a list", data)
        items: list[Any] = []
        try:
            for item in data:
                items.append(read_item(item))
        except _Misfit as misfit:
            misfit.steps.append(f"[{len(items)}]")
            raise
        return make(items)

    return read


def _each(readers: list[Reader]) -> Reader:
    def read(data: Any) -> Any:
        if type(data) is not list or len(data) != len(readers):
            raise _no(f"a list of {len(readers)}", data)
        items: list[Any] = []
        try:
            for read_item, item in zip(readers, data, strict=True):
                items.append(read_item(item))
        except _Misfit as misfit:
            misfit.steps.append(f"[{len(items)}]")
            raise
        return tuple(items)

    return read


def _object(reader_of: Callable[[str], Reader | None]) -> Reader:
    """Of an object what the reader of each key makes of its value; others are left out."""

    def read(data: Any) -> Any:
        if type(data) is not dict:
            raise _no("an object", data)
        items: dict[str, Any] = {}
        key = ""
        try:
            for key, item in data.items():
                read_item = reader_of(key)
                if read_item is not None:
                    items[key] = read_item(item)
        except _Misfit as misfit:
            misfit.steps.append(f".{key}")
            raise
        return items

    return read


def _known_keys(kind: Any, finite: bool) -> Reader:
    """What else there is stays as it is: a later version may know it."""
    readers = {name: _reader(hint, finite) for name, hint in get_type_hints(kind).items()}
    return _object(lambda key: readers.get(key, _shallow))


def _fields(kind: Any, finite: bool) -> Reader:
    hints = get_type_hints(kind)
    init_fields = [field for field in fields(kind) if field.init]
    readers = {
        field.name: _reader(hints[field.name], finite and not field.metadata.get("non_finite"))
        for field in init_fields
    }
    required_names = {
        f.name for f in init_fields if f.default is MISSING and f.default_factory is MISSING
    }

    read_known = _object(readers.get)

    def read(data: Any) -> Any:
        values = read_known(data)
        if not required_names <= values.keys():
            missing = next(field for field in readers if field in required_names - values.keys())
            raise _Misfit(f"has no {missing!r}")
        try:
            return kind(**values)
        except ValueError as error:  # the type knows more of its values than their types
            raise _Misfit(f"is wrong ({error})") from None

    return read
