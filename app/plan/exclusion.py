"""The row of an exclusion, and the rows of the common kinds: pairs, needs, no effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.cases.errors import PlanError
from app.plan.plan import Plan
from app.plan.settings.table import by_key, default_of


@dataclass(frozen=True, slots=True)
class Exclusion:
    """`applies` gives what the `{}` of the message stands for, or True; '' or False where nothing
    is wrong."""

    code: str
    applies: Callable[[Plan], bool | str]
    message: str
    action: str
    typed: str = ""


class ExclusionError(PlanError):
    """A plan with settings that exclude each other, with the code of the exclusion."""

    def __init__(self, row: Exclusion, found: bool | str) -> None:
        super().__init__(row.message.format(found), row.action)
        self.code = row.code


def is_set(plan: Plan, key: str) -> bool:
    """Whether a plan, or one of its grids, has another value than the default."""
    setting = by_key()[key]
    if setting.scope == "command":
        return True
    parts = plan.sweeps if setting.scope == "sweep" else (plan,)
    return any(getattr(part, key) != default_of(setting) for part in parts)


def flag_of(key: str) -> str:
    return by_key()[key].flag


def pairs(first: str, *others: str, why: str = "they measure different things") -> list[Exclusion]:
    """`first` with each of the others."""
    return [
        Exclusion(
            f"{first}_with_{other}",
            lambda plan, other=other: is_set(plan, first) and is_set(plan, other),  # type: ignore[misc]
            f"{flag_of(first)} cannot be used with {flag_of(other)}: {why}",
            f"leave {flag_of(first)} or {flag_of(other)} out",
        )
        for other in others
    ]


def needs(key: str, *needed: str, action: str) -> Exclusion:
    """A setting that has no effect without one of the others."""
    named = " or ".join(map(flag_of, needed))
    return Exclusion(
        f"{key}_without_{needed[0]}",
        lambda plan: is_set(plan, key) and not any(is_set(plan, other) for other in needed),
        f"{flag_of(key)} needs {named}",
        f"add {action}, or remove {flag_of(key)}",
    )


def without_effect(
    typed: str, code: str, applies: Callable[[Plan], bool], why: str, action: str = ""
) -> Exclusion:
    """A typed setting without effect."""
    flag = flag_of(typed)
    return Exclusion(
        code, applies, f"{flag} has no effect: {why}", action or f"remove {flag}", typed
    )
