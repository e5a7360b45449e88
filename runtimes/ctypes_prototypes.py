"""C functions as typed attributes: a class of prototypes in, the same class filled out."""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from _ctypes import CFuncPtr, _CArgObject, _CDataType

    CType = type[_CDataType]
    Reference = _CArgObject
    Items = c.Array[Any]
else:
    Reference = Items = object

# What a caller may give, and what ctypes makes of it.
Int = Annotated[int | c.c_int, c.c_int]
UInt = Annotated[int, c.c_uint]
UInt64 = Annotated[int | c.c_uint64, c.c_uint64]
Size = Annotated[int | c.c_size_t, c.c_size_t]
Text = Annotated[bytes | None, c.c_char_p]
Handle = Annotated[c.c_void_p | int | None, c.c_void_p]
Out = Annotated[Reference, c.c_void_p]
"""What `byref` gives, of any type."""
OutInt = Annotated[Reference, c.POINTER(c.c_int)]
OutSize = Annotated[Reference, c.POINTER(c.c_size_t)]
OutHandle = Annotated[Reference, c.POINTER(c.c_void_p)]
Elements = Annotated[Items, c.c_void_p]
"""An array, which C is given the address of."""

Status = Annotated[None, "checked"]
Code = Annotated[int, c.c_int]
"""A status that the caller reads."""

Fault = Callable[[int, str], Exception]
"""What to raise for a status and the name of the function that returned it."""

_Table = TypeVar("_Table")


@dataclass(frozen=True, slots=True)
class _Prototype:
    name: str
    arguments: tuple[CType, ...]
    result: CType | None
    checked: bool
    slot: int


def from_library(table: type[_Table], library: c.CDLL, fault: Fault) -> _Table:
    """The functions of a library, by their names; a status is an int, 0 for success."""
    return _filled(table, lambda prototype: getattr(library, prototype.name), c.c_int, fault)


def from_slots(table: type[_Table], address: int, fault: Fault) -> _Table:
    """The functions of a table in memory, by their slots: `Annotated[Callable[...], slot]`.

    A status is the address of an object, null for success.
    """
    pointers = c.cast(address, c.POINTER(c.c_void_p))
    bare = c.CFUNCTYPE(None)
    return _filled(table, lambda prototype: bare(pointers[prototype.slot] or 0), c.c_void_p, fault)


def _filled(
    table: type[_Table],
    function_of: Callable[[_Prototype], CFuncPtr],
    status: CType,
    fault: Fault,
) -> _Table:
    functions = table()
    for prototype in _prototypes(table):
        function = function_of(prototype)
        function.argtypes = prototype.arguments
        function.restype = status if prototype.checked else prototype.result
        if prototype.checked:
            function.errcheck = _raising(prototype.name, fault)
        setattr(functions, prototype.name, function)
    return functions


def _raising(name: str, fault: Fault) -> Callable[[Any, object, object], Any]:
    def check(status: int | None, _function: object, _arguments: object) -> None:
        if status:
            raise fault(status, name)

    return check


def _prototypes(table: type) -> Iterator[_Prototype]:
    for name, hint in get_type_hints(table, include_extras=True).items():
        function, slot = get_args(hint) if get_origin(hint) is Annotated else (hint, 0)
        arguments, result = get_args(function)
        yield _Prototype(
            name=name,
            arguments=tuple(get_args(argument)[1] for argument in arguments),
            result=None if result in (None, Status) else get_args(result)[1],
            checked=result == Status,
            slot=slot,
        )
