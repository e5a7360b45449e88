"""What a plan's `precise` asks for, checked: percentiles that rows tell, within shares of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.cases.percentiles import DEFAULT, written
from exporters.invalid_value import InvalidValue


def asked_for(precise: Mapping[str, float], plan: Mapping[str, Any]) -> dict[str, float]:
    """The percentiles as `p50`, `p99.9`; ValueError in one sentence for what no run can keep.

    `plan` has the values of the other keys that are valid themselves.
    """
    told = set(map(written, (*DEFAULT, *plan.get("percentiles", ()))))
    asked: dict[str, float] = {}
    for word, share in precise.items():
        number = word.strip().removeprefix("p")
        if number not in told:
            raise InvalidValue(
                f"precise {word} is no percentile of the rows",
                "write it like p50; add others to percentiles",
                "precise",
            )
        if not 0.0 < share < 1.0:
            raise InvalidValue(
                f"precise {word}={share:g} is no share",
                "give one between 0 and 100 %, such as 1%",
                "precise",
            )
        asked[f"p{number}"] = share
    return asked
