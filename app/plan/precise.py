"""What a plan's `precise` asks for, checked: percentiles that rows tell, within shares of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.cases.percentiles import DEFAULT, written
from app.stats.precise import FIRST_LOOK
from exporters.invalid_value import InvalidValue


def asked_for(precise: Mapping[str, float], plan: Mapping[str, Any]) -> dict[str, float]:
    """The percentiles as `p50`, `p99.9`; ValueError in one sentence for what no run can keep.

    `plan` has the values of the other keys that are valid themselves.
    """
    if precise and plan.get("largest_batch"):
        raise InvalidValue(
            "precise has no rounds to add to a search",
            "leave out largest_batch or it",
            "precise",
        )
    if precise and plan.get("aa"):
        raise InvalidValue(
            "precise adds rounds and aa has as many as it says",
            "leave out one of them",
            "precise",
        )
    rounds = plan.get("rounds")
    if precise and rounds is not None and rounds < FIRST_LOOK:
        raise InvalidValue(
            f"precise looks at intervals from {FIRST_LOOK} rounds on and may have {rounds}",
            f"give --rounds {FIRST_LOOK} or more, or none",
            "precise",
        )
    told = set(map(written, (*DEFAULT, *plan.get("percentiles", ()))))
    asked: dict[str, float] = {}
    for word, share in precise.items():
        number = word.strip().removeprefix("p")
        if number not in told:
            raise InvalidValue(
                f"precise {word} is no percentile of the rows",
                "write it like p50, and add one that rows don't tell to percentiles",
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
