"""Values of any of our dataclasses, drawn by its type hints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=3,
)


@cache
def drawn(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of the type; collections hold at most three."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return JSON
    if hint is int:
        return st.integers(-(2**63), 2**63 - 1)
    if is_typeddict(hint):
        values = {name: drawn(field_hint) for name, field_hint in get_type_hints(hint).items()}
        return st.fixed_dictionaries({}, optional=values)
    if is_dataclass(hint) and isinstance(hint, type):
        hints = get_type_hints(hint)
        return st.builds(hint, **{f.name: drawn(hints[f.name]) for f in fields(hint) if f.init})
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple and arguments[1:] == (...,):
        return st.lists(drawn(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(drawn, arguments))
    if origin is list:
        return st.lists(drawn(arguments[0]), max_size=3)
    if origin is frozenset:
        return st.frozensets(drawn(arguments[0]), max_size=3)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(st.text(max_size=5), drawn(arguments[1]), max_size=3)
    if arguments:
        return st.one_of(*map(drawn, arguments))
    return st.from_type(hint)
