"""The plans of several runs -> one that says what they are together, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.cases.errors import ResultsError
from app.plan.plan import Plan
from app.results.manifest import MergedRun

NAME = "merged"
_TOGETHER = ("name", "sweeps", "percentiles", "tune", "rounds")
"""Keys of which the merged plan has neither one run's value nor the default."""


def together(parts: Sequence[MergedRun]) -> Plan:
    """All grids and percentiles, and of every other key what all share, else its default.

    Searches over options are those of their own runs: their ladder is of one machine.
    """
    plans = [part.asked for part in parts]
    values = {key: [getattr(plan, key) for plan in plans] for key in Plan.model_fields}
    kept = {key: own[0] for key, own in values.items() if key not in _TOGETHER and _all_one(own)}
    if not _all_one([part.rounds for part in parts]):
        kept.pop("precise", None)  # how sure it can be follows from the most rounds there may be
    elif _all_one(values["rounds"]):
        kept["rounds"] = plans[0].rounds
    return Plan(
        name=plans[0].name if _all_one(values["name"]) else NAME,
        sweeps=tuple({repr(grid): grid for plan in plans for grid in plan.sweeps}.values()),
        percentiles=tuple(dict.fromkeys(p for plan in plans for p in plan.percentiles)),
        **kept,
    )


def refuse_mixed(parts: Sequence[MergedRun]) -> None:
    """ResultsError where some only checked whether cases run."""
    checks = [part.folder for part in parts if part.asked.check]
    others = [part.folder for part in parts if not part.asked.check]
    if checks and others:
        raise ResultsError(
            f"{checks[0]} is a check, which timed nothing, and {others[0]} was measured",
            "merge checks with checks",
        )


def differing(parts: Sequence[MergedRun]) -> Iterator[str]:
    """A sentence for each setting that is not the same in all."""
    plans = [part.asked for part in parts]
    if not plans:
        return
    for key in Plan.model_fields:
        if key not in ("name", "sweeps", "rounds"):
            yield from _told(key, parts, [getattr(plan, key) for plan in plans])
    for key in ("rounds", "time_limit_s", "graphlap_version", "schema_version"):
        yield from _told(key, parts, [getattr(part, key) for part in parts])
    if _all_one([plan.profile for plan in plans]):
        yield from _told("limits", parts, [part.limits for part in parts])
    if any(plan.tune for plan in plans):
        yield "the ladders of --tune stay in the folders that they were searched in"


def _all_one(values: Sequence[object]) -> bool:
    return all(value == values[0] for value in values)


def _told(key: str, parts: Sequence[MergedRun], values: Sequence[object]) -> Iterator[str]:
    if _all_one(values):
        return
    folders: dict[str, list[str]] = {}
    for part, value in zip(parts, values, strict=True):
        folders.setdefault(_word(value), []).append(part.folder)
    told = ", ".join(f"{word} in {' and '.join(of)}" for word, of in folders.items())
    yield f"differs: {key} is {told}"


def _word(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "none"
    if isinstance(value, dict):
        return " ".join(f"{name}={one}" for name, one in value.items()) or "none"
    return "none" if value in (None, "") else str(value)
