"""One point of a sweep, the hash that names it, and what pairs it with a case of another run.

A case says what was asked for, never what happened: its id is the same on every host.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import Any

from app.cases.scenario import CLOSED_LOOP, NO_CONDITION, Batcher, Condition, Scenario, WaitPolicy
from app.cases.user_files import NO_USER_FILES, UserFiles
from exporters.types import Precision
from runtimes.options import OptionValue


@dataclass(frozen=True, slots=True)
class Case:
    """model x runtime x precision x axes x threads x options x scenario x condition.

    `model` is a catalogue name, an .onnx path as the plan gives it, or
    `path/file.py:factory`; `runtime` is `name[:device][@release]`; `axes` are the sizes
    asked for, all of them (`batch`, `sequence`, and a user's own names). A `batcher` makes its
    batches itself, so that the axes have batch 1. `host` is the machine that it is measured on
    where several are compared, empty where it does not matter. `case_id` is 12 hex digits.
    """

    model: str
    runtime: str
    precision: Precision = "fp32"
    axes: Mapping[str, int] = field(default_factory=dict)
    threads: int = 1
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    scenario: Scenario = CLOSED_LOOP
    wait_policy: WaitPolicy = "spin"
    batcher: Batcher | None = None
    condition: Condition = NO_CONDITION
    host: str = ""
    suite: str = ""
    given: UserFiles = NO_USER_FILES
    case_id: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "case_id", _digest(self.identity))

    @property
    def identity(self) -> dict[str, Any]:
        """What makes this case another than others.

        What is at its default is left out, so that a new axis renames no older case; neither
        the suite nor paths of files count.
        """
        values: dict[str, Any] = {"model": self.model, "runtime": self.runtime}
        for name, default in _AXES:
            value = getattr(self, name)
            if value is not default and value != default:
                values[name] = _identity_value(value)
        return values | self.given.identity


_NOT_IDENTITY = frozenset({"model", "runtime", "suite", "given", "case_id"})
_WORDS = (Scenario, Batcher)
"""What is one word with its figures, as people write it."""


def _identity_value(value: object) -> object:
    if isinstance(value, Condition):
        return value.identity
    return str(value) if isinstance(value, _WORDS) else value


def _default_of(spec: Field[Any]) -> object:
    return spec.default_factory() if spec.default_factory is not MISSING else spec.default


_AXES = tuple((one.name, _default_of(one)) for one in fields(Case) if one.name not in _NOT_IDENTITY)
"""What counts beside model and runtime, each with its default."""
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
"""Made once: a sweep may have a hundred thousand cases."""


def _digest(identity: Mapping[str, Any]) -> str:
    """12 hex digits of the sha256 of a case's identity."""
    return hashlib.sha256(_encode(identity).encode()).hexdigest()[:12]


def have_hosts(cases: Iterable[Case]) -> bool:
    """Whether these cases are each of a host, so that the same is told by host from itself."""
    return any(case.host for case in cases)


def case_on_host(case: Case, host: object) -> Case:
    """The case as a run of several hosts calls it, of one that this host measured."""
    return case if case.host or not host else replace(case, host=str(host))


def identity_test(cases: Iterable[tuple[Case, object]]) -> Callable[[Case, object], bool]:
    """Whether another run's case, given with the host that measured it, is the same as one of these
    cases, given likewise."""
    pairs = list(cases)
    has_hosts = have_hosts(case for case, _ in pairs)
    ids = {case.case_id for case, _ in pairs}
    ids |= {case_on_host(case, host).case_id for case, host in pairs}

    def is_same(case: Case, host: object) -> bool:
        return case.case_id in ids or (
            has_hosts and not case.host and case_on_host(case, host).case_id in ids
        )

    return is_same


def pairing_keys(sides: Sequence[Iterable[tuple[Case, object]]]) -> list[list[str]]:
    """For each side's cases, given with the hosts that measured them, what pairs them with those of
    other sides: what makes a case, and its host where some side tells cases apart by that."""
    side_lists = [list(side) for side in sides]
    has_hosts = any(have_hosts(case for case, _ in side) for side in side_lists)
    return [
        [(case_on_host(case, host) if has_hosts else case).case_id for case, host in side]
        for side in side_lists
    ]


def identity_of(case: Case) -> str:
    """What makes a case, whether or not its run tells it apart by its host: each is of one."""
    return replace(case, host="").case_id if case.host else case.case_id
