"""Cases of a test that are left to `make soak`: they take long, and others stand for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest


def seldom_but(
    usual_names: Collection[str], values: Iterable[Any], name: Callable[[Any], str] = str
) -> list[Any]:
    """`values` as a test's parameters, each called by its `name`; those not in `usual_names` are
    rare."""
    named_values = [(name(value), value) for value in values]
    assert set(usual_names) <= {value_name for value_name, _ in named_values}, (
        "what is kept is among the values"
    )
    return [
        pytest.param(
            value, id=value_name, marks=[] if value_name in usual_names else [pytest.mark.rare]
        )
        for value_name, value in named_values
    ]
