"""What two environments, or two descriptions of how a case was run, do not share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(name, first value, second value) of what the environments do not share."""
    a, b = _flat(first), _flat(second)
    return [
        (name, a.get(name, "not known"), b.get(name, "not known"))
        for name in dict.fromkeys([*a, *b])
        if a.get(name) != b.get(name)
    ]


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        elif value not in (None, ""):
            flat[prefix + name] = f"{value:.4g}" if isinstance(value, float) else str(value)
    return flat
