"""The environments that a user has named, as `graphlap doctor` shows them: what each is and has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.cases.errors import PlanError
from app.machine.available import runtime
from app.machine.environments import Environment, asked, interpreter
from app.plan.environments import users_file
from runtimes.base import Available


@dataclass(frozen=True, slots=True)
class Looked:
    """Lines of the report; `broken` if no case can be measured in one of the environments."""

    lines: tuple[str, ...]
    broken: bool


def look_at(environments: Mapping[str, str]) -> Looked:
    """Each environment, by the names of the interpreters."""
    if not environments:
        return Looked((f"  none; name some in {users_file()}, or by --python",), False)
    lines, broken = [], False
    width = max(map(len, environments))
    for name, python in environments.items():
        try:
            told = _told(asked(name, interpreter(python)))
        except PlanError as error:
            told, broken = str(error), True
        lines.append(f"  {name:<{width}}  {told}")
    return Looked(tuple(lines), broken)


def _told(environment: Environment) -> str:
    has = [
        f"{name} {there.availability.version}"
        for name, there in environment.runtimes.items()
        if isinstance(there.availability, Available) and not runtime(name).only_when_named
    ]
    runtimes = ", ".join(has) or "no runtime; install one there, such as onnxruntime"
    return f"{environment.python}, Python {environment.version}: {runtimes}"
