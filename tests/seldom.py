"""Cases of a test that are left to `make soak`: they take long, and others stand for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest


def seldom_but(
    kept: Collection[str], values: Iterable[Any], name: Callable[[Any], str] = str
) -> list[Any]:
    """`values` as a test's parameters, each called by its `name`; those not in `kept` are rare."""
    named = [(name(value), value) for value in values]
    assert set(kept) <= {own for own, _ in named}, "what is kept is among the values"
    return [
        pytest.param(value, id=own, marks=[] if own in kept else [pytest.mark.rare])
        for own, value in named
    ]
