"""Cases beside each other -> by what they differ: runtime, model, axis, host, size or option."""

from __future__ import annotations

from collections.abc import Sequence

from app.cases.axes import AXES
from app.cases.case import Case
from app.results.labels import model_names
from app.results.plain import printable
from app.results.series import Series


def facets(series: Sequence[Series]) -> dict[str, dict[str, str]]:
    """By name, what each case has of it, by its key; only what is not the same of all.

    What a case has not, as another model's size, is "".
    """
    models = model_names(one.case.model for one in series)
    told = {one.key: _all_of(one.case, models[one.case.model]) for one in series}
    names = dict.fromkeys(name for values in told.values() for name in values)
    found = {name: {key: of.get(name, "") for key, of in told.items()} for name in names}
    return {name: of for name, of in found.items() if len(set(of.values())) > 1}


def _all_of(case: Case, model: str) -> dict[str, str]:
    own = {"runtime": case.runtime, "model": model}
    own |= {axis.field: axis.told(case) for axis in AXES}
    own |= {"host": f"on {printable(case.host)}"} if case.host else {}
    own |= {name: f"{name} {size}" for name, size in sorted(case.axes.items())}
    return own | {name: f"{name}={value}" for name, value in sorted(case.options.items())}
